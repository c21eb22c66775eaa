// Installed by the step that needs it, after types are checked.
declare module "webgpu";
