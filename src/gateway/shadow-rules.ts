// Candidate rules (rules.candidatePath): follows their files and evaluates calls in shadow.

import type { Clock } from '../core/clock.ts'
import type { PiiKind } from '../core/finding.ts'
import { formatProblem } from '../core/problem.ts'
import { Shadow, type ShadowParts } from '../pipeline/record/shadow.ts'
import { CandidateRules } from '../rules/candidate.ts'
import { openRules, type RuleSnapshot } from '../rules/load.ts'
import { FileWatcher } from '../rules/watch.ts'
import { logWatching } from './live-rules.ts'
import type { GatewayLogger } from './logger.ts'

export interface ShadowRules {
  readonly path: string
  readonly rules: CandidateRules
  readonly shadow: Shadow
  /** Resolves once the files are read and watched. Their errors are logged and stop nothing. */
  start(): Promise<void>
  reload(): Promise<void>
  close(): Promise<void>
}

interface ShadowRulesParts
  extends Pick<
    ShadowParts,
    | 'live'
    | 'kinds'
    | 'injection'
    | 'binaryParts'
    | 'placeholderStyle'
    | 'pseudonyms'
    | 'metrics'
    | 'searches'
  > {
  readonly clock: Clock
  readonly logger: GatewayLogger
  /** Kinds of personal data that the configuration defines. */
  readonly openKinds: readonly PiiKind[]
}

const EMPTY: RuleSnapshot = { rules: [], problems: [], contentHash: '' }

/** @param path rules.candidatePath */
export function createShadowRules(
  path: string,
  { logger, openKinds, ...parts }: ShadowRulesParts,
): ShadowRules {
  const rules = new CandidateRules(openKinds)
  const replace = (snapshot: RuleSnapshot) => {
    const errors = rules.replaceFiles(snapshot).map(formatProblem)
    if (errors.length > 0) logger.error({ errors }, 'the candidate rules have errors and are not evaluated')
    else logger.info({ revision: rules.current?.revision }, 'candidate rules loaded')
  }
  const watcher = new FileWatcher({
    path,
    open: openRules,
    initial: EMPTY,
    onSnapshot: replace,
    onError: (error) => logger.error({ err: error }, 'the candidate rules could not be loaded'),
    onWatching: logWatching(logger, path, 'rule files'),
  })
  return {
    path,
    rules,
    shadow: new Shadow({
      ...parts,
      candidate: () => rules.current,
      onError: (error) => logger.error({ err: error }, 'the candidate rules failed on a call'),
    }),
    start: () => watcher.start(),
    reload: () => watcher.reload(),
    close: () => watcher.close(),
  }
}
