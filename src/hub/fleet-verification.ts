// Verifies the database of a fleet: the log of the hubs first, then each other log with what the
// hubs have witnessed of it.

import { openCheckpoint } from '../audit/checkpoint.ts'
import { type LogVerdict, LogVerifier } from '../audit/log-verify.ts'
import { type AuditorEvidence, LogSurvey } from '../audit/survey.ts'
import type { LogVerdictOf } from '../cli/hub.ts'
import { hashText } from '../ledger/hub-log.ts'
import type { StoredLog, StoredLogs } from '../ledger/stored-logs.ts'
import { unreadableVerdict, verifyLog } from '../store/verification/verification.ts'
import { addFacts, strayLimits } from './log-facts.ts'
import { StoredLogSource } from './stored-log-source.ts'
import { WitnessedRoots } from './witnessed-roots.ts'

/**
 * Verifies every log of a database, one after the other, and reports logs that it should have.
 * @param evidence checkpoints may be of any of the logs
 * @param progress receives fractions of 1
 * @throws as StoredLogs (rejects)
 */
export async function verifyLogs(
  logs: StoredLogs,
  evidence: AuditorEvidence,
  progress: (done: number) => void,
): Promise<LogVerdictOf[]> {
  const stored = await logs.list()
  const brought = new BroughtCheckpoints(evidence)
  const witnessed = new WitnessedRoots()
  const verdicts: LogVerdictOf[] = []
  let coveredSeq: number | null = null
  for (const [index, log] of stored.entries()) {
    const { log_id, sidecar, name, state } = log
    const isHubs = sidecar === null
    const roots = isHubs ? [] : witnessed.of(log_id, coveredSeq)
    const source = new StoredLogSource(logs, log, roots, (seq, body) => {
      if (isHubs) witnessed.add(seq, body)
    })
    const report = (done: number) => progress((index + done) / stored.length)
    const cuts = await logs.cuts(log_id)
    const isDropped = cuts.at(-1)?.first_seq === log.seq + 1 && (await logs.firstHash(log_id)) === null
    const own = brought.of(log_id, isHubs)
    const verdict = isDropped ? await verifyDropped(source, log, own) : await verifyLog(source, own, report)
    if (isHubs) coveredSeq = verdict.coveredSeq
    verdicts.push({ sidecar, name, state, verdict: await addFacts(verdict, log, cuts, logs) })
  }
  // They are of no log: the first verdict, that of the hubs, has them.
  const [first] = verdicts
  if (first !== undefined) {
    const limits = [...first.verdict.limits, ...(await strayLimits(logs))]
    verdicts[0] = { ...first, verdict: { ...first.verdict, limits } }
  }
  const known = new Set(stored.map(({ log_id }) => log_id))
  return [...verdicts, ...missingLogs(known, brought, witnessed)]
}

/** Verifies what is left of a log whose months were all dropped: its end and its tree. */
async function verifyDropped(
  source: StoredLogSource,
  { log_id: log, seq, hash }: StoredLog,
  evidence: AuditorEvidence,
): Promise<LogVerdict> {
  const survey = new LogSurvey(evidence)
  await source.survey(survey)
  const verifier = new LogVerifier(survey)
  verifier.beginAfter({ log, seq, hash: hashText(hash) })
  return verifier.finish()
}

/** The checkpoints that the auditor brings, by log. */
class BroughtCheckpoints {
  readonly #evidence: AuditorEvidence
  /** Those of no log under ''. */
  readonly #byLog: ReadonlyMap<string, AuditorEvidence['checkpoints']>

  constructor(evidence: AuditorEvidence) {
    this.#evidence = evidence
    this.#byLog = Map.groupBy(evidence.checkpoints, ({ note }) => {
      const opened = openCheckpoint(note, () => [])
      return 'fault' in opened ? '' : opened.log
    })
  }

  get logs(): readonly string[] {
    return [...this.#byLog.keys()].filter((log) => log !== '')
  }

  /** @param isHubs whether to add those that cannot be read, so that their fault is reported */
  of(log: string, isHubs: boolean): AuditorEvidence {
    const own = this.#byLog.get(log) ?? []
    const unreadable = isHubs ? (this.#byLog.get('') ?? []) : []
    return { keys: this.#evidence.keys, checkpoints: [...own, ...unreadable] }
  }
}

/** Returns a verdict on each log that was witnessed or has a checkpoint, but is not stored. */
function missingLogs(
  known: ReadonlySet<string>,
  brought: BroughtCheckpoints,
  witnessed: WitnessedRoots,
): LogVerdictOf[] {
  const named = new Set([...witnessed.logs, ...brought.logs])
  return [...named]
    .filter((log) => !known.has(log))
    .map((log) => {
      const reason = witnessed.logs.includes(log)
        ? 'the database has no entry of this log, which the hubs have witnessed'
        : 'the database has no entry of this log, of which there is a checkpoint'
      const verdict = { ...unreadableVerdict(brought.of(log, false), reason), log }
      return { sidecar: null, name: null, state: 'missing', verdict }
    })
}
