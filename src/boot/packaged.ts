// Runs the built program. .build.ts makes dist/main.js of this file and the first line of main.ts.

import '../core/signal-guard.ts'
import { loadProgram } from './built-program.ts'
import { refuseOldNode } from './node-version.ts'

refuseOldNode()
void loadProgram(import.meta.dirname)
  .run(process.argv.slice(2))
  // Open keep-alive connections must not keep the process.
  .then((code) => process.exit(code))
