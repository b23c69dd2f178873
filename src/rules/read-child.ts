// The child process of read-in-child.ts: receives the texts of rule files and answers with a
// snapshot.

import '../core/signal-guard.ts'
import { writeFileSync } from 'node:fs'
import type { ChildMessage, ChildTask } from './read-in-child.ts'
import { snapshotOf } from './snapshot.ts'

/** When memory runs out, the system kills this process before the gateway: proc(5). */
const OUT_OF_MEMORY_SCORE = '1000'

try {
  writeFileSync('/proc/self/oom_score_adj', OUT_OF_MEMORY_SCORE)
} catch {
  // Only Linux has it.
}
process.once('message', ({ files, problems, reader }: ChildTask) => {
  const send = (message: ChildMessage, then = () => {}) => process.send?.(message, then)
  const snapshot = snapshotOf(files, problems, { reader, onFile: (file) => send({ file }) })
  // Disconnecting before the message is written out would drop it.
  send({ snapshot }, () => process.disconnect())
})
