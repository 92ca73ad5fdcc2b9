import { currentCredential } from './credential.js'
import { element, require } from './elements.js'
import { fieldsOf, sendRequest } from './request.js'

/** @typedef {import('./request.js').ApiRequest} ApiRequest */

/** Fields by which people recognise a thing, the best first. */
const NAME_FIELDS = ['email', 'name', 'displayName', 'subject', 'title', 'address', 'url']

const dialog = require('#confirm', HTMLDialogElement)
const target = require('#confirm-target', HTMLElement)

/** Whether a request destroys something, so that it is confirmed before it is sent. @param {ApiRequest} request */
export function isDestructive({ method }) {
  return method === 'DELETE'
}

/**
 * Asks for confirmation of a request that destroys something, and names what. The focus returns to where it was.
 *
 * @param {HTMLFormElement} form
 * @param {ApiRequest} request
 * @returns {Promise<boolean>}
 */
export function confirmRequest(form, request) {
  const operation = form.closest('.operation')
  const summary = operation?.querySelector('.summary')?.textContent.trim().replace(/\.$/, '')
  const abort = new AbortController()
  require('#confirm-title', HTMLElement).textContent = `${summary ?? request.method}?`
  require('#confirm-request', HTMLElement).textContent = `${request.method} ${request.path}`
  require('#confirm-send', HTMLElement).textContent = `Send ${request.method}`
  require('#confirm-effect', HTMLElement).textContent =
    operation?.querySelector('.description p')?.textContent.trim() ?? ''
  target.replaceChildren(...filledRows(form))
  void showName(form, request, abort.signal)
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise(resolve => {
    const onClose = () => {
      abort.abort()
      resolve(dialog.returnValue === 'send')
    }
    dialog.addEventListener('close', onClose, { once: true })
  })
}

export function listenForConfirmation() {
  require('#confirm-cancel', HTMLElement).addEventListener('click', () => dialog.close('cancel'))
  require('#confirm-send', HTMLElement).addEventListener('click', () => dialog.close('send'))
}

/** Rows of the filled-in parameters with their meaning. @param {HTMLFormElement} form */
function filledRows(form) {
  return [...fieldsOf(form)]
    .filter(field => field.dataset['name'] !== undefined && field.value.trim() !== '')
    .map(field => {
      const meaning = field.closest('.parameter')?.querySelector('p')?.textContent ?? ''
      return row(field.dataset['name'] ?? '', field.value.trim(), meaning)
    })
}

/**
 * Looks up the name of the thing, if it can be read at the same path. Otherwise the dialog shows only its id.
 *
 * @param {HTMLFormElement} form
 * @param {ApiRequest} request
 * @param {AbortSignal} signal
 */
async function showName(form, request, signal) {
  const path = CSS.escape(form.dataset['path'] ?? '')
  if (document.querySelector(`form[data-method=GET][data-kind=json][data-path=${path}]`) === null) return
  try {
    const read = { method: 'GET', path: request.path.replace(/\?.*/, ''), headers: {}, body: null }
    const response = await sendRequest(read, currentCredential(), signal)
    if (!response.ok) return
    const found = await response.json()
    const name = NAME_FIELDS.map(field => found?.[field]).find(
      value => typeof value === 'string' && value !== '',
    )
    if (name !== undefined && !signal.aborted) target.prepend(row('Name', name, ''))
  } catch {
    // The dialog shows the id anyway.
  }
}

/** @param {string} name @param {string} value @param {string} meaning */
function row(name, value, meaning) {
  const made = element('div', '')
  const description = element('dd', '')
  description.append(element('span', value, 'value'))
  if (meaning !== '') description.append(element('span', meaning, 'soft'))
  made.append(element('dt', name), description)
  return made
}
