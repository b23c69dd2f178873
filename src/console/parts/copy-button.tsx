// Copies a text to the clipboard, and says so.

import { useState } from 'preact/hooks'

/** Time for which the success shows, milliseconds. */
const SHOWN_MS = 2000

export function CopyButton({ label, text }: { readonly label: string; readonly text: string }) {
  const [shown, setShown] = useState(label)
  const copy = async () => {
    // Browsers offer the clipboard to pages of localhost and of https only.
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    setShown(done === true ? 'Copied' : 'Select the text and copy it')
    setTimeout(() => setShown(label), SHOWN_MS)
  }
  return (
    <button type="button" aria-live="polite" onClick={copy}>
      {shown}
    </button>
  )
}
