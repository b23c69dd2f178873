// What checks a whole log from a process of its own, see logcheck.ts: a program, which says on standard output how far it
// is, and its verdict or why there is none.

import { setPriority } from 'node:os'
import { NO_EVIDENCE } from '../../audit/survey.ts'
import { verdictObject } from '../../audit/verdict.ts'
import { printLine } from '../damage.ts'
import { DirectorySource } from '../verification/directory.ts'
import { SourceError } from '../verification/log-source.ts'
import { openAndVerify } from '../verification/verification.ts'

/** Of the system's scale from -20 to 19: calls go first. */
const NICENESS = 15
/** Progress is told in so many steps. */
const STEPS = 200

async function check(path: string): Promise<void> {
  setPriority(NICENESS)
  let told = 0
  const open = () => new DirectorySource(path)
  const tell = (done: number) => {
    const step = Math.floor(done * STEPS)
    if (step > told) printLine({ progress: step / STEPS })
    told = Math.max(told, step)
  }
  try {
    printLine({ verdict: verdictObject(await openAndVerify(open, NO_EVIDENCE, tell)) })
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    printLine({ failure: error.message })
  }
}

void check(process.argv[2] ?? '')
