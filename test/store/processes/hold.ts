// Begins a write transaction and does not end it: what a hung disk looks like to every other process. PATH. Says
// `held` once it has it.

import { openEnvironment } from '../../../src/store/lmdb.ts'

const [path = ''] = process.argv.slice(2)

openEnvironment(path).initialize(() => {
  process.stdout.write('held\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
