// The trial of a candidate rule set (rules.candidatePath): its files watched, its judgements shadowing the traffic.

import type { Clock } from '../core/clock.ts'
import { formatProblem } from '../core/problem.ts'
import { Shadow, type ShadowParts } from '../pipeline/shadow.ts'
import { CandidateRules } from '../rules/candidate.ts'
import type { RuleSnapshot } from '../rules/load.ts'
import { RuleWatcher } from '../rules/watch.ts'
import type { GatewayLogger } from './logger.ts'

export interface Trial {
  readonly path: string
  readonly rules: CandidateRules
  readonly shadow: Shadow
  /** Resolves once the files are read and watched. Mistakes in them are reported, and stop nothing. */
  start(): Promise<void>
  reload(): Promise<void>
  close(): Promise<void>
}

interface TrialParts
  extends Pick<ShadowParts, 'live' | 'kinds' | 'injection' | 'binaryParts' | 'metrics' | 'searches'> {
  readonly clock: Clock
  readonly logger: GatewayLogger
}

const NOTHING_READ: RuleSnapshot = { rules: [], problems: [], contentHash: '' }

/** @param path rules.candidatePath */
export function createTrial(path: string, { logger, ...parts }: TrialParts): Trial {
  const rules = new CandidateRules()
  const take = (snapshot: RuleSnapshot) => {
    rules.replaceFiles(snapshot)
    const errors = rules.errors.map(formatProblem)
    if (errors.length > 0) logger.error({ errors }, 'the candidate rules have mistakes and are not on trial')
    else logger.info({ revision: rules.current?.revision }, 'candidate rules on trial')
  }
  const watcher = new RuleWatcher({
    path,
    initial: NOTHING_READ,
    onSnapshot: take,
    onError: (error) => logger.error({ err: error }, 'the candidate rules could not be taken'),
  })
  return {
    path,
    rules,
    shadow: new Shadow({
      ...parts,
      candidate: () => rules.current,
      onError: (error) => logger.error({ err: error }, 'a call could not be judged by the candidate rules'),
    }),
    start: () => watcher.start(),
    reload: () => watcher.reload(),
    close: () => watcher.close(),
  }
}
