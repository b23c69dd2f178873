// Asks the recognisers about the texts of a prompt, before it is inspected. The one place where a
// call waits for what is in its prompt; everything after it is synchronous.

import { decodeSteps, decodeView } from '../../chat/inner-json/json-text.ts'
import type { Text } from '../../chat/texts.ts'
import type { Clock } from '../../core/clock.ts'
import { nowOrInSlices, Pace, type Steps } from '../../core/steps.ts'
import type { Asking, Recognisers } from '../../recognisers/recognisers.ts'
import { JsonWalls } from '../scan/json-walls.ts'
import { OutsideValues, type ViewedText } from '../scan/outside-values.ts'

/**
 * Resolves with what recognisers find in the decoded texts of a prompt.
 * @throws GatewayError (rejects) `recogniser_unavailable`, or when the client leaves
 */
export async function recognisePrompt(
  recognisers: Recognisers,
  texts: readonly Text[],
  asking: Omit<Asking, 'place'>,
  clock: Pick<Clock, 'monotonic'>,
): Promise<OutsideValues> {
  const viewed = await nowOrInSlices(viewsOf(texts), clock)
  const outside = new OutsideValues(recognisers, { ...asking, place: 'prompt' })
  await outside.ask(viewed, wallsOf, clock)
  return outside
}

/** Reads where values of recognisers are cut in a text of a prompt. */
export function* wallsOf(text: Pick<Text, 'text' | 'encoding'>): Steps<JsonWalls> {
  const walls = new JsonWalls()
  walls.read(yield* decodeSteps(text, 'request'))
  walls.endText(true)
  walls.settle()
  return walls
}

/** The decoded texts that are not exact, each once. */
function* viewsOf(texts: readonly Text[]): Steps<readonly ViewedText[]> {
  const viewed: ViewedText[] = []
  const seen = { plain: new Set<string>(), json: new Set<string>() }
  const pace = new Pace()
  for (const one of texts) {
    if (pace.isOver(one.text.length)) yield
    const { text, encoding } = one
    if (one.isExact || seen[encoding].has(text)) continue
    seen[encoding].add(text)
    viewed.push({ text, encoding, view: yield* decodeView(one, 'request') })
  }
  return viewed
}
