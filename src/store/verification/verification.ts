// Checks a whole log from where it is kept: first where it was pruned and signed, then entry by entry.

import { type LogVerdict, LogVerifier } from '../../audit/log-verify.ts'
import { type AuditorEvidence, LogSurvey } from '../../audit/survey.ts'
import { DamageError, type LogSource, UnsteadyError } from './log-source.ts'
import { VerifyingReader } from './read-log.ts'

/** A running gateway may prune between survey and check; then both are done again. */
const MAX_ATTEMPTS = 5

/**
 * Opens a log, checks the whole of it and closes it. That it is too damaged for that is a finding as well.
 * @throws SourceError where there is none, or it cannot be opened for another reason
 */
export async function openAndVerify(
  open: () => LogSource,
  evidence: AuditorEvidence,
  progress: (done: number) => void,
): Promise<LogVerdict> {
  let source: LogSource | null = null
  try {
    source = open()
    return await verifyLog(source, evidence, progress)
  } catch (error) {
    if (!(error instanceof DamageError)) throw error
    return unreadableVerdict(evidence, error.message)
  } finally {
    await source?.close()
  }
}

/** Nothing could be read, so there is nothing more to printLine. @param reason for people */
export const unreadableVerdict = (evidence: AuditorEvidence, reason: string): LogVerdict => ({
  ...new LogVerifier(new LogSurvey(evidence)).finish(),
  findings: [{ seq: null, reason }],
})

/**
 * Checks the whole of a log.
 * @param progress called now and then with a fraction of 1
 * @throws UnsteadyError when it did not stay what it was for long enough
 */
export async function verifyLog(
  source: LogSource,
  evidence: AuditorEvidence,
  progress: (done: number) => void,
): Promise<LogVerdict> {
  for (let attempt = 1; ; attempt++) {
    const survey = new LogSurvey(evidence)
    let before = 0
    const first = await source.survey(survey, (done) => {
      before = 0.5
      progress(before * done)
    })
    let wrongNodes = 0
    const verifier = new LogVerifier(survey, (level, index, node) => {
      wrongNodes += Number(!source.matchesStoredNode(level, index, node))
    })
    const reader = new VerifyingReader(source, verifier, (done) => progress(before + (1 - before) * done))
    const fault = await source.read(reader)
    const verdict = reader.finish(verifier.finish(fault), wrongNodes)
    const isSame = reader.first === first && (verdict.ok || !source.wasPruned(first))
    if (isSame) return verdict
    if (attempt < MAX_ATTEMPTS) continue
    if (verdict.ok || !source.wasPruned(first)) return verdict
    // What was pruned would be found missing, and the log be said not to be what was sealed.
    throw new UnsteadyError(
      `the log was pruned each of the ${MAX_ATTEMPTS} times it was read; check a copy (sidegate audit compact)`,
    )
  }
}
