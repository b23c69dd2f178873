// Lists the texts of a prompt and asks the recognisers about them, before they are inspected.

import { signedThoughts } from '../chat/signed-thoughts.ts'
import { takeServerSecrets } from '../chat/tool-servers.ts'
import { GatewayError } from '../core/errors.ts'
import { atOnce, inSlices, type Steps } from '../core/steps.ts'
import { assertWaiting, leaving } from './call/client.ts'
import type { Admitted, Pipeline, Received, Recognised, Walked } from './pipeline.ts'
import { recognisePrompt } from './prompt/recognise-prompt.ts'
import { readTools } from './prompt/request-tools.ts'

/**
 * Lists the texts of a prompt, and asks the recognisers about them.
 * @throws GatewayError `blocked_by_policy`, `recogniser_unavailable`, or when the client leaves
 */
export async function recognise(
  pipeline: Pipeline,
  admitted: Admitted,
  received: Received,
): Promise<Recognised> {
  const { call, client } = admitted
  const { clock, recognisers } = pipeline
  const startMs = clock.monotonic()
  const steps = walkPrompt(pipeline, admitted, received)
  const check = () => assertWaiting(client)
  const walked = received.isLong ? await inSlices(steps, clock, check) : atOnce(steps)
  call.addPhase('inspect', clock.monotonic() - startMs)
  if (recognisers === null) return { ...walked, outside: null }
  const askedMs = clock.monotonic()
  const asking = { keyId: call.key.id, left: leaving(client) }
  const outside = await recognisePrompt(recognisers, walked.walk.texts, asking, clock)
  call.addPhase('recognise', clock.monotonic() - askedMs)
  check()
  return { ...walked, outside }
}

function* walkPrompt({ toolServers }: Pipeline, { call }: Admitted, received: Received): Steps<Walked> {
  const { request, selection } = received
  const servers = takeServerSecrets(request.body)
  if (servers.servers > 0 && toolServers === 'refuse') throw serversRefused()
  const thoughts = (yield* signedThoughts(request.body)).map(({ text }) => text)
  const defined = readTools(call.api, request.body, selection)
  const walk = yield* call.api.requestTexts(request.body, selection.readsNumbers('request'))
  return { received, walk, servers, thoughts, defined }
}

const serversRefused = (): GatewayError =>
  new GatewayError('blocked_by_policy', 'Tool servers are not allowed (tools.servers).', {
    param: 'tools',
    headers: { 'x-should-retry': 'false' },
  })
