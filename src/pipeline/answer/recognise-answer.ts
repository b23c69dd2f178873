// Asks the recognisers about the texts of a whole answer, before they are scanned.

import type { Clock } from '../../core/clock.ts'
import { nowOrInSlices, Pace, STEP_UNITS, type Steps } from '../../core/steps.ts'
import { type UpstreamResponse, unusableStatus } from '../../upstream/response.ts'
import type { Call } from '../call/call.ts'
import type { JsonWalls } from '../scan/json-walls.ts'
import type { OutsideValues, ViewedText } from '../scan/outside-values.ts'
import type { ScanRules } from '../scan/text-scanner.ts'
import { readView } from '../scan/view-reader.ts'
import { parseAnswerSteps, reasonIn } from './received-body.ts'

/** An answer as far as its texts are read. */
interface ReceivedAnswer {
  readonly call: Call
  readonly response: UpstreamResponse
  readonly scan: ScanRules
  readonly clock: Pick<Clock, 'monotonic'>
}

/**
 * Adds to `outside` what recognisers find in the texts of an answer. An answer that cannot be read
 * adds nothing: its scan says why.
 * @throws GatewayError (rejects) `recogniser_unavailable`
 */
export async function recogniseAnswer(
  answer: ReceivedAnswer,
  outside: OutsideValues,
  received: Buffer,
): Promise<void> {
  const { call, clock } = answer
  const startMs = clock.monotonic()
  const viewed = await nowOrInSlices(viewedTexts(answer, received), clock)
  await outside.ask(viewed, (text) => wallsIn(text, answer.scan), clock)
  call.addPhase('recognise', clock.monotonic() - startMs)
}

function* viewedTexts(answer: ReceivedAnswer, received: Buffer): Steps<readonly ViewedText[]> {
  const { call, response, scan } = answer
  const { status } = response
  // The scan changes the texts of its body in place.
  const { body: parsed } = yield* parseAnswerSteps(received)
  const { answer: format, errors } = call.api
  const body = parsed ?? errors.failure({}, reasonIn(received) || unusableStatus(status), status)
  const viewed: ViewedText[] = []
  const pace = new Pace()
  for (const one of yield* format.group(format.texts(body).texts, call.record.asksForJson)) {
    const { text, encoding } = one
    if (pace.isOver(text.length)) yield
    if (!one.isExact) viewed.push({ text, encoding, view: readView(one, scan).view })
  }
  return viewed
}

function* wallsIn(text: ViewedText, scan: ScanRules): Steps<JsonWalls> {
  if (text.text.length > STEP_UNITS) yield
  return readView(text, scan).walls
}
