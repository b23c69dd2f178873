// Asks the recognisers about the texts of a prompt, before it is inspected. The one place where a
// call waits for what is in its prompt; everything after it is synchronous.

import { decodeView } from '../../chat/inner-json/json-text.ts'
import type { Text } from '../../chat/texts.ts'
import type { Clock } from '../../core/clock.ts'
import { nowOrInSlices, Pace, type Steps } from '../../core/steps.ts'
import type { Asking, Recognisers } from '../../recognisers/recognisers.ts'
import { OutsideValues } from '../scan/outside-values.ts'

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
  const views = await nowOrInSlices(viewsOf(texts), clock)
  const outside = new OutsideValues(recognisers, { ...asking, place: 'prompt' })
  await outside.ask(views.map((view) => ({ text: view, view })))
  return outside
}

/** The decoded texts, each once. */
function* viewsOf(texts: readonly Text[]): Steps<readonly string[]> {
  const views = new Set<string>()
  const pace = new Pace()
  for (const text of texts) {
    if (pace.isOver(text.text.length)) yield
    views.add(yield* decodeView(text, 'request'))
  }
  return [...views]
}
