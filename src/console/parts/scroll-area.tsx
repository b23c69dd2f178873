// A part of the page that scrolls sideways on narrow screens, by keyboard too.

import type { ComponentChildren } from 'preact'

interface ScrollAreaProps {
  readonly label: string
  readonly children: ComponentChildren
}

export const ScrollArea = ({ label, children }: ScrollAreaProps) => (
  <section class="scroll" tabIndex={0} aria-label={label}>
    {children}
  </section>
)
