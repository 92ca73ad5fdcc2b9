import { confirmRequest, isDestructive, listenForConfirmation } from './confirm.js'
import { currentCredential, listenForCredential } from './credential.js'
import { require } from './elements.js'
import { colourAll } from './json.js'
import { chooseLanguage, chosenLanguage } from './language.js'
import { followLocation } from './location.js'
import { fieldsOf, readRequest, sendRequest } from './request.js'
import { clearResponse, showResponse, showStatus } from './response.js'
import { listenForSearch } from './search.js'
import { SNIPPETS } from './snippets.js'

const COPIED_MS = 1500

/** Requests in progress, by form. @type {WeakMap<HTMLFormElement, AbortController>} */
const underWay = new WeakMap()

/** @param {HTMLFormElement} form */
function showSnippet(form) {
  const language = chosenLanguage()
  require('.snippet', HTMLElement, form).textContent =
    SNIPPETS[language]?.(readRequest(form), location.origin) ?? ''
  for (const button of form.querySelectorAll('.language')) {
    button.setAttribute('aria-pressed', String(button.getAttribute('data-snippet') === language))
  }
}

function showOpenSnippets() {
  for (const form of document.querySelectorAll('.operation[open] form')) {
    if (form instanceof HTMLFormElement) showSnippet(form)
  }
}

/** @param {HTMLFormElement} form */
async function send(form) {
  const running = underWay.get(form)
  if (running) return running.abort()
  const request = readRequest(form)
  if (request.missing.length > 0)
    return showStatus(form, `Fill in ${request.missing.join(', ')} first.`, 'bad')
  const abort = new AbortController()
  underWay.set(form, abort)
  const button = require('[type=submit]', HTMLButtonElement, form)
  try {
    if (isDestructive(request) && !(await confirmRequest(form, request))) return showStatus(form, 'Not sent.')
    button.textContent = 'Cancel'
    clearResponse(form)
    showStatus(form, 'Sending …')
    const startedAt = performance.now()
    const response = await sendRequest(request, currentCredential(), abort.signal)
    await showResponse(form, response, performance.now() - startedAt)
  } catch (error) {
    const why = error instanceof Error ? error.message : error
    showStatus(form, abort.signal.aborted ? 'Cancelled.' : `No response: ${why}.`, 'bad')
  } finally {
    underWay.delete(form)
    button.textContent = 'Send'
  }
}

/**
 * Copies a value typed for a path parameter to the same parameter of the other forms. @param {EventTarget | null}
 * target
 */
function shareValue(target) {
  if (!(target instanceof HTMLInputElement) || target.dataset['in'] !== 'path') return
  for (const field of fieldsOf(document)) {
    if (field.dataset['in'] === 'path' && field.dataset['name'] === target.dataset['name'])
      field.value = target.value
  }
}

/** @param {HTMLButtonElement} button @param {HTMLElement} source */
async function copy(button, source) {
  try {
    await navigator.clipboard.writeText(source.textContent)
    button.textContent = 'Copied'
  } catch {
    // Pages over plain HTTP have no access to the clipboard; selected text can be copied by hand.
    getSelection()?.selectAllChildren(source)
    button.textContent = 'Selected'
  }
  setTimeout(() => void (button.textContent = 'Copy'), COPIED_MS)
}

/** Not `crypto.randomUUID`, which pages over plain HTTP do not have. */
function freshKey() {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}

/** Opens the details that the URL names. A link to the current target must work again. */
function openTarget() {
  const target = location.hash === '' ? null : document.getElementById(location.hash.slice(1))
  if (!target) return
  const details = target.closest('details')
  if (details) details.open = true
  const place = details ?? target
  place.scrollIntoView()
}

/** @param {Event} event */
function forForm(event) {
  const form = event.target instanceof Element ? event.target.closest('form') : null
  return form?.matches('.request') ? form : null
}

/** @param {HTMLFormElement} form @param {HTMLButtonElement} button */
function press(form, button) {
  if (button.matches('.copy')) void copy(button, require('.snippet', HTMLElement, form))
  if (button.matches('.language')) {
    chooseLanguage(button.dataset['snippet'] ?? 'curl')
    showOpenSnippets()
  }
  if (button.matches('.fresh')) {
    require('[data-name=Idempotency-Key]', HTMLInputElement, form).value = freshKey()
    showSnippet(form)
  }
}

function listen() {
  addEventListener('hashchange', openTarget)
  document.addEventListener('submit', event => {
    event.preventDefault()
    const form = forForm(event)
    if (form) void send(form)
  })
  document.addEventListener('input', event => {
    const form = forForm(event)
    if (!form) return
    shareValue(event.target)
    showOpenSnippets()
  })
  document.addEventListener('click', event => {
    const form = forForm(event)
    if (form && event.target instanceof HTMLButtonElement) press(form, event.target)
  })
  document.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) forForm(event)?.requestSubmit()
  })
  document.addEventListener('toggle', onToggle, { capture: true })
}

/** @param {Event} event */
function onToggle({ target }) {
  if (!(target instanceof HTMLDetailsElement) || !target.open || !target.matches('.operation')) return
  colourAll(target)
  for (const form of target.querySelectorAll('form')) showSnippet(form)
  history.replaceState(null, '', `#${target.dataset['operation']}`)
}

// Shows the elements that need this script.
document.documentElement.classList.add('scripted')
listenForCredential()
listenForSearch()
listenForConfirmation()
listen()
openTarget()
followLocation()
