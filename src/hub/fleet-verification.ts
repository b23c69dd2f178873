// Verifies the database of a fleet: the log of the hubs first, then each other log with what the
// hubs have witnessed of it.

import { openCheckpoint } from '../audit/checkpoint.ts'
import { type LogVerdict, LogVerifier } from '../audit/log-verify.ts'
import { type AuditorEvidence, LogSurvey } from '../audit/survey.ts'
import type { LogFinding } from '../audit/verdict-builder.ts'
import type { LogVerdictOf } from '../cli/hub.ts'
import { isoTime } from '../core/time.ts'
import { hashText } from '../ledger/hub-log.ts'
import type { StoredConflict, StoredCut, StoredLog, StoredLogs } from '../ledger/stored-logs.ts'
import { unreadableVerdict, verifyLog } from '../store/verification/verification.ts'
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
  const names = new Map(stored.map(({ sidecar, name }) => [sidecar, name]))
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
    const facts = { conflicts: await logs.conflicts(log_id), cuts }
    const nameOf = (id: string) => names.get(id) ?? id
    verdicts.push({ sidecar, name, state, verdict: withFacts(verdict, log, facts, nameOf) })
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

interface LogFacts {
  readonly conflicts: readonly StoredConflict[]
  readonly cuts: readonly StoredCut[]
}

/** Adds what the database knows of a log besides its entries. */
function withFacts(
  verdict: LogVerdict,
  { log_id, state, seq, sidecar }: StoredLog,
  { conflicts, cuts }: LogFacts,
  nameOf: (sidecar: string) => string,
): LogVerdict {
  const found: LogFinding[] = conflicts.map((one) => ({
    seq: one.seq,
    reason: `${nameOf(one.sidecar)} sent at ${isoTime(one.at)} what does not fit this log (${one.kind}); the row is in the table conflict`,
  }))
  if (state === 'forked' && conflicts.length === 0)
    found.push({ seq: null, reason: 'the sidecar has another log than the one that is stored (forked)' })
  const limits = [...verdict.limits]
  if (cuts.some(({ first_seq }) => first_seq === verdict.firstSeq))
    limits.push(
      `entries before ${verdict.firstSeq} were dropped with their months; the row in log_cut is tied to them by checkpoints and the log of the hubs alone`,
    )
  if (state === 'cut' && sidecar !== null)
    limits.push(
      `the log is cut: it has no stop entry, and its sidecar is not heard any more; entries after ${seq} may be lost`,
    )
  const findings = [...verdict.findings, ...found]
  return { ...verdict, log: verdict.log ?? log_id, ok: findings.length === 0, findings, limits }
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
