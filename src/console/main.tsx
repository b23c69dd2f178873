// Starts the console in the page.

import './locale.ts'
import { render } from 'preact'
import { ErrorBoundary } from './parts/error-boundary.tsx'
import { followLinks } from './place.ts'
import { Shell } from './shell.tsx'

const root = document.getElementById('root')!
root.replaceChildren()
followLinks()
render(
  <ErrorBoundary>
    <Shell />
  </ErrorBoundary>,
  root,
)
