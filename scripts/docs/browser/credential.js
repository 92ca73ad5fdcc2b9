import { require } from './elements.js'
import { readStored, store } from './stored.js'

/** A kept key is stored in this tab only: never in a URL, a cookie or storage that other tabs see. */
const STORED_KEY = 'waxwing-reference-key'

const key = require('#key', HTMLInputElement)
const keep = require('#keep', HTMLInputElement)

/** The credential for requests, or an empty string. */
export function currentCredential() {
  return key.value.trim()
}

export function listenForCredential() {
  key.value = readStored('sessionStorage', STORED_KEY) ?? ''
  keep.checked = key.value !== ''
  key.addEventListener('input', update)
  keep.addEventListener('change', update)
  key.addEventListener('keydown', event => {
    if (event.key === 'Enter') require('#credential', HTMLElement).hidePopover()
  })
  require('#forget', HTMLButtonElement).addEventListener('click', () => {
    key.value = ''
    keep.checked = false
    update()
  })
  require('#credential', HTMLElement).addEventListener('toggle', event => {
    if (event.newState === 'open') key.focus()
  })
  update()
}

function update() {
  const isSet = key.value.trim() !== ''
  store('sessionStorage', STORED_KEY, keep.checked && isSet ? key.value.trim() : null)
  require('#key-state', HTMLElement).textContent = isSet ? 'set' : 'not set'
}
