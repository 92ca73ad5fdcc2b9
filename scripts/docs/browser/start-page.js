import { showExamples } from './examples.js'
import { followLocation } from './location.js'
import { listenForSearch } from './search.js'

/** Starts what every page without forms has. */
export function startPage() {
  // Shows the elements that need a script.
  document.documentElement.classList.add('scripted')
  showExamples()
  listenForSearch()
  followLocation()
}
