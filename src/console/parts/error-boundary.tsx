// Shows what happened where a part of the page failed, in place of a blank page.

import { Component, type ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Inert } from './text.tsx'

interface Failed {
  readonly error: unknown
}

const describe = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error)

/** Its children, or why they cannot be shown. */
export class ErrorBoundary extends Component<{ readonly children: ComponentChildren }, Failed> {
  override state: Failed = { error: null }

  static override getDerivedStateFromError(error: unknown): Failed {
    return { error: error ?? 'unknown error' }
  }

  override render() {
    const { error } = this.state
    if (error === null) return <>{this.props.children}</>
    return (
      <main>
        <h1>This page failed</h1>
        <p class="failure" role="alert">
          <Inert text={describe(error)} />
        </p>
        <p>
          This is an error of the console; calls through the gateway are not affected. Report it with the text
          below.
        </p>
        <p>
          <button type="button" class="primary" onClick={() => this.setState({ error: null })}>
            Show the page again
          </button>
        </p>
        {error instanceof Error ? <pre tabIndex={0}>{error.stack}</pre> : null}
      </main>
    )
  }
}

/** An exception outside of what is drawn, such as in the code of a button. */
export function UncaughtError() {
  const [message, setMessage] = useState<string | null>(null)
  useEffect(() => {
    const caught = (event: ErrorEvent) => setMessage(describe(event.error ?? event.message))
    const rejected = (event: PromiseRejectionEvent) => setMessage(describe(event.reason))
    window.addEventListener('error', caught)
    window.addEventListener('unhandledrejection', rejected)
    return () => {
      window.removeEventListener('error', caught)
      window.removeEventListener('unhandledrejection', rejected)
    }
  }, [])
  if (message === null) return null
  return (
    <p class="banner" role="alert">
      The console failed: <Inert text={message} />{' '}
      <button type="button" onClick={() => setMessage(null)}>
        Dismiss
      </button>
    </p>
  )
}
