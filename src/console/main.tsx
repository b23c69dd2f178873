// Starts the console in the page.

import { render } from 'preact'
import { followLinks } from './place.ts'
import { Shell } from './shell.tsx'

followLinks()
render(<Shell />, document.getElementById('root')!)
