// Decoders of event streams as clients have them: the standard's, and two that dispatch events
// which the standard drops.

export interface ClientEvent {
  readonly name: string
  readonly data: string
  readonly id: string
}

/** Which blocks without data become events. */
export interface EmptyBlocks {
  /** Any block, as in openai-go before 3.43. */
  readonly all?: boolean
  /** One after an `id` line, at any time, or with `event` or `retry`, as in openai-python. */
  readonly named?: boolean
}

/** Decodes a stream by WHATWG HTML §9.2.6. */
export function decodeStream(
  stream: string,
  { all = false, named = false }: EmptyBlocks = {},
): ClientEvent[] {
  const events: ClientEvent[] = []
  let [name, id, data] = ['', '', null as string | null]
  let isNamed = false
  const lines = stream.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  // Text after the last line end is not a line.
  for (const line of lines.slice(0, -1)) {
    if (line === '') {
      if (data !== null || all || (named && (isNamed || id !== '')))
        events.push({ name, data: data ?? '', id })
      name = ''
      data = null
      isNamed = false
      continue
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data = data === null ? value : `${data}\n${value}`
    if (field === 'event') name = value
    if (field === 'id' && !value.includes('\0')) id = value
    isNamed ||= field === 'event' || field === 'id' || field === 'retry'
  }
  return events
}

/** Events of each kind of client; equal when no block lacks data. */
export const decodeAsClients = (stream: string): readonly ClientEvent[][] =>
  [{}, { all: true }, { named: true }].map((empty) => decodeStream(stream, empty))
