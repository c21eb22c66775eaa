// Where lanes of a run leave a loop together, a subgroup does; the check sees only that a value decides.
enable subgroups;
diagnostic(off, subgroup_uniformity);
