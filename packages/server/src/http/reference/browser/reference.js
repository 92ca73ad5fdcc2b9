import { clearAnswer, showAnswer, showFailure } from './answer.js'
import { curlOf, fieldsOf, readRequest } from './request.js'

/** The key lives in this tab only: never in an address, a cookie or what other tabs see. */
const STORED_KEY = 'waxwing-reference-key'
const COPIED_MS = 1500

const search = require('#search', HTMLInputElement)
const key = require('#key', HTMLInputElement)
/** Requests under way, by form. @type {WeakMap<HTMLFormElement, AbortController>} */
const underWay = new WeakMap()

/**
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} type
 * @param {ParentNode} [parent]
 * @returns {T}
 */
function require(selector, type, parent = document) {
  const found = parent.querySelector(selector)
  if (!(found instanceof type)) throw new Error(`The page lacks ${selector}`)
  return found
}

/** Shows what is of no use without this script. */
function reveal() {
  for (const hidden of document.querySelectorAll('.tools, .try-note, .try, .fresh, [data-in]'))
    hidden.removeAttribute('hidden')
  require('.no-script', HTMLElement).hidden = true
  require('.contents', HTMLDetailsElement).open = matchMedia('(min-width: 70rem)').matches
}

/** @param {HTMLFormElement} form */
function showCurl(form) {
  require('.curl', HTMLPreElement, form).textContent = curlOf(readRequest(form), location.origin)
}

/** @param {HTMLFormElement} form */
async function send(form) {
  const place = require('.answer', HTMLDivElement, form)
  const button = require('[type=submit]', HTMLButtonElement, form)
  const running = underWay.get(form)
  if (running) return running.abort()
  const { method, path, headers, body, missing } = readRequest(form)
  if (missing.length > 0) return showFailure(place, `Fill in ${missing.join(', ')} first.`)
  const abort = new AbortController()
  underWay.set(form, abort)
  button.textContent = 'Cancel'
  clearAnswer(place)
  const startedAt = performance.now()
  try {
    const credential = key.value.trim()
    const response = await fetch(path, {
      method,
      headers: credential === '' ? headers : { ...headers, Authorization: `Bearer ${credential}` },
      body,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: abort.signal,
    })
    await showAnswer(place, response, performance.now() - startedAt)
  } catch (error) {
    const why = abort.signal.aborted
      ? 'Cancelled.'
      : `No answer: ${error instanceof Error ? error.message : error}.`
    showFailure(place, why)
  } finally {
    underWay.delete(form)
    button.textContent = 'Send'
  }
}

/** What was typed for a name in one path is meant in the others, too. @param {EventTarget | null} target */
function shareValue(target) {
  if (!(target instanceof HTMLInputElement) || target.dataset['in'] !== 'path') return
  for (const field of fieldsOf(document)) {
    if (field.dataset['in'] === 'path' && field.dataset['name'] === target.dataset['name'])
      field.value = target.value
  }
}

/** @param {HTMLButtonElement} button @param {HTMLElement} source */
async function copy(button, source) {
  const label = button.textContent
  try {
    await navigator.clipboard.writeText(source.textContent ?? '')
    button.textContent = 'Copied'
  } catch {
    // Browsers give no clipboard to pages over plain HTTP; what is selected can be copied by hand.
    getSelection()?.selectAllChildren(source)
    button.textContent = 'Selected'
  }
  setTimeout(() => void (button.textContent = label), COPIED_MS)
}

/** Not `crypto.randomUUID`, which pages over plain HTTP do not have. */
function freshKey() {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}

/** Leaves the operations in which every word occurs. */
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
  let found = 0
  for (const operation of document.querySelectorAll('.operation')) {
    const text = operation.textContent.toLowerCase()
    const isHidden = !words.every(word => text.includes(word))
    const id = operation.getAttribute('data-operation') ?? ''
    operation.toggleAttribute('hidden', isHidden)
    const entry = document.querySelector(`[data-link="${CSS.escape(id)}"]`)?.closest('li')
    entry?.toggleAttribute('hidden', isHidden)
    if (!isHidden) found += 1
  }
  for (const group of document.querySelectorAll('.group')) {
    group.toggleAttribute('hidden', group.querySelector('.operation:not([hidden])') === null)
  }
  const status = require('#found', HTMLParagraphElement)
  const isSearching = words.length > 0
  status.hidden = !isSearching
  status.textContent = found === 0 ? 'No operation has all of these words.' : `Operations found: ${found}`
  require('#about', HTMLElement).hidden = isSearching
}

/** Opens what the address names. A link to it is a link for others as well. */
function openTarget() {
  const target =
    location.hash === '' ? null : document.querySelector(`#${CSS.escape(location.hash.slice(1))}`)
  const details = target?.closest('details')
  if (!target || !details) return
  details.hidden = false
  details.open = true
  details.scrollIntoView()
}

/** @param {Event} event */
function forForm(event) {
  const form = event.target instanceof Element ? event.target.closest('form') : null
  return form?.matches('.request') ? form : null
}

function listen() {
  search.addEventListener('input', filter)
  key.addEventListener('input', () => sessionStorage.setItem(STORED_KEY, key.value))
  require('#forget', HTMLButtonElement).addEventListener('click', () => {
    sessionStorage.removeItem(STORED_KEY)
    key.value = ''
  })
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
    showCurl(form)
  })
  document.addEventListener('click', event => {
    const form = forForm(event)
    if (!form || !(event.target instanceof HTMLButtonElement)) return
    if (event.target.matches('.copy')) void copy(event.target, require('.curl', HTMLPreElement, form))
    if (event.target.matches('.fresh')) {
      require('[data-name=Idempotency-Key]', HTMLInputElement, form).value = freshKey()
      showCurl(form)
    }
  })
  document.addEventListener('toggle', onToggle, { capture: true })
  document.addEventListener('keydown', onKey)
}

/** @param {Event} event */
function onToggle({ target }) {
  if (!(target instanceof HTMLDetailsElement) || !target.open || !target.matches('.operation')) return
  for (const form of target.querySelectorAll('form')) showCurl(form)
  history.replaceState(null, '', `#${target.dataset['operation']}`)
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select')
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault()
    search.focus()
  } else if (event.key === 'Escape' && event.target === search) {
    search.value = ''
    filter()
  }
}

key.value = sessionStorage.getItem(STORED_KEY) ?? ''
reveal()
listen()
openTarget()
