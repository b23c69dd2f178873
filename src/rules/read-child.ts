// What reads large rule files, see beside.ts: a program, which is sent the texts and answers with a snapshot.

import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { RuleFiles } from './files.ts'
import type { ReaderMessage } from './read-in-child.ts'
import { snapshotOf } from './snapshot.ts'

/** Of the system's scale from -20 to 19: calls go first. */
const NICENESS = 15
/** Where memory runs out, this process ends and not the gateway: proc(5). */
const OUT_OF_MEMORY_SCORE = '1000'

setPriority(NICENESS)
try {
  writeFileSync('/proc/self/oom_score_adj', OUT_OF_MEMORY_SCORE)
} catch {
  // Not on this system.
}
process.once('message', ({ files, problems }: RuleFiles) => {
  const say = (message: ReaderMessage, then = () => {}) => process.send?.(message, then)
  const snapshot = snapshotOf(files, problems, (file) => say({ file }))
  // Before it is sent whole, the way would be gone.
  say({ snapshot }, () => process.disconnect())
})
