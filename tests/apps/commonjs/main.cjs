const layernorm = require("layernorm");

import("./checks.js").then(({ checks }) => {
  console.log(JSON.stringify({ main: checks(layernorm) }));
});
