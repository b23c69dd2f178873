// Keeps signals from opening Node's debugger or ending the process without a drain. An import for
// its effect; entry files import it first.

import { close, url } from 'node:inspector'

/**
 * SIGUSR1 opens the debugger unless the process listens for it. The others end a process that does
 * not. A SIGXFSZ that is ignored makes the write fail (EFBIG), which fails closed like a full disk.
 */
const IGNORED = ['SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGVTALRM', 'SIGXFSZ'] as const

for (const signal of IGNORED) if (process.platform !== 'win32') process.on(signal, () => {})
closeDebugger()
// A signal before the first line opens it a second time, in the next turn of the event loop.
setImmediate(() => {
  closeDebugger()
  setImmediate(closeDebugger)
})

/** Closes a debugger that a signal opened before the process listened. */
export function closeDebugger(): void {
  if (url() !== undefined) close()
}
