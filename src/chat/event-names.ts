// Recognises the `event` lines of the APIs that name their events.

const NAME =
  /^event: (?:response(?:\.[a-z_]{1,40}){1,4}|message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|ping|error)$/

/** Reports whether the lines of an event other than data are just a name of the wire format. */
export const isEventName = (lines: string): boolean => lines.startsWith('event: ') && NAME.test(lines)

/** Reports whether an event has nothing worth sending besides its data. */
export const isBare = (otherLines: string): boolean => otherLines === '' || isEventName(otherLines)

const PING = /^\{\s*"type":\s*"ping"\s*\}$/

/** Reports whether data is Anthropic's `ping`, which holds nothing else. */
export const isPing = (data: string): boolean => PING.test(data)
