import { require } from './elements.js'

const search = require('#search', HTMLInputElement)
/** Searchable texts, read once per element. @type {WeakMap<Element, string>} */
const texts = new WeakMap()

export function listenForSearch() {
  search.addEventListener('input', filter)
  search.addEventListener('keydown', event => {
    if (event.key === 'Escape') clearSearch()
    if (event.key !== 'Enter') return
    // Otherwise the key would also close the field that gets the focus.
    event.preventDefault()
    openFirst()
  })
  document.addEventListener('keydown', event => {
    const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    search.focus()
  })
}

export function clearSearch() {
  if (search.value === '') return
  search.value = ''
  filter()
}

/** Shows only what contains every word, and the headings above it. */
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
  let found = 0
  for (const unit of document.querySelectorAll('.unit')) {
    const isHidden = !words.every(word => textOf(unit).includes(word))
    unit.toggleAttribute('hidden', isHidden)
    if (!isHidden) found += 1
    linkTo(unit)?.toggleAttribute('hidden', isHidden)
  }
  for (const group of document.querySelectorAll('.group, .subgroup')) {
    const isEmpty = group.querySelector('.unit:not([hidden])') === null
    group.toggleAttribute('hidden', isEmpty)
    document.querySelector(`[data-group="${group.id}"]`)?.toggleAttribute('hidden', isEmpty)
  }
  const isSearching = words.length > 0
  const status = require('#found', HTMLElement)
  status.hidden = !isSearching
  status.textContent = found === 0 ? 'Nothing contains all of these words.' : `Found: ${found}`
  require('#about', HTMLElement).hidden = isSearching
}

/** @param {Element} unit */
function textOf(unit) {
  const text = texts.get(unit) ?? unit.textContent.toLowerCase()
  texts.set(unit, text)
  return text
}

/** The link in the navigation. @param {Element} unit */
function linkTo(unit) {
  const name = unit.getAttribute('data-operation') ?? unit.id
  return name === '' ? null : document.querySelector(`[data-link="${CSS.escape(name)}"]`)?.closest('li')
}

function openFirst() {
  const first = document.querySelector('details.unit:not([hidden])')
  if (!(first instanceof HTMLDetailsElement)) return
  first.open = true
  first.querySelector('summary')?.focus()
}
