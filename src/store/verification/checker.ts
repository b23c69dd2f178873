// The program that verifies a whole log in a child process (see background.ts). Prints its progress
// on standard output, then the verdict or the reason why there is none.

import '../../core/signal-guard.ts'
import { setPriority } from 'node:os'
import { NO_EVIDENCE } from '../../audit/survey.ts'
import { verdictObject } from '../../audit/verdict.ts'
import { printLine } from '../environment/damage.ts'
import { DirectorySource } from './directory.ts'
import { SourceError } from './log-source.ts'
import { openAndVerify } from './verification.ts'

/** On the system's scale from -20 to 19: calls go first. */
const NICENESS = 15
/** Number of progress lines. */
const STEPS = 200

async function check(path: string): Promise<void> {
  setPriority(NICENESS)
  let printed = 0
  const open = () => new DirectorySource(path)
  const printProgress = (done: number) => {
    const step = Math.floor(done * STEPS)
    if (step > printed) printLine({ progress: step / STEPS })
    printed = Math.max(printed, step)
  }
  try {
    printLine({ verdict: verdictObject(await openAndVerify(open, NO_EVIDENCE, printProgress)) })
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    printLine({ failure: error.message })
  }
}

void check(process.argv[2] ?? '')
