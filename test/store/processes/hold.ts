// Begins a write transaction and never ends it, like a stuck disk for every other process: PATH.
// Prints `held` once it has begun.

import { openLmdb } from '../../../src/store/environment/lmdb.ts'

const [path = ''] = process.argv.slice(2)

openLmdb(path).write(() => {
  process.stdout.write('held\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
