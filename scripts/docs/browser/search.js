import { element, require } from './elements.js'
import { INDEX_OPTIONS, findPlaces } from './find.js'

const RESULTS_MAX = 12
const KINDS = new Map([
  ['operation', 'Operation'],
  ['schema', 'Schema'],
  ['reason', 'Reason'],
  ['event', 'Event'],
  ['setting', 'Setting'],
  ['command', 'Command'],
])

const search = require('#site-search', HTMLInputElement)
const panel = require('#found', HTMLElement)
const list = require('#found-list', HTMLElement)

/** The index, which is loaded when somebody begins to search. @type {Promise<any> | undefined} */
let index

export function listenForSearch() {
  search.addEventListener('focus', () => void loadIndex())
  search.addEventListener('input', () => void show())
  search.addEventListener('keydown', event => {
    if (event.key === 'Enter') list.querySelector('a')?.click()
    else if (event.key === 'ArrowDown') move(event, 0)
  })
  panel.addEventListener('keydown', event => {
    const links = linksOf()
    const at = links.findIndex(link => link === document.activeElement)
    if (event.key === 'ArrowDown') move(event, at + 1)
    if (event.key === 'ArrowUp') move(event, at - 1)
  })
  panel.addEventListener('click', event => {
    if (event.target instanceof Element && event.target.closest('a')) close()
  })
  document.addEventListener('keydown', event => {
    if (event.key === 'Escape' && !panel.hidden) {
      close()
      search.focus()
    }
    const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    search.focus()
  })
  document.addEventListener('click', event => {
    if (event.target instanceof Element && event.target.closest('search') === null) panel.hidden = true
  })
  search.addEventListener('search', () => void show())
}

function close() {
  search.value = ''
  panel.hidden = true
}

function linksOf() {
  return [...list.querySelectorAll('a')]
}

/** Moves the focus to a result, or back to the field. @param {KeyboardEvent} event @param {number} at */
function move(event, at) {
  event.preventDefault()
  const target = at < 0 ? search : linksOf()[at]
  target?.focus()
}

function loadIndex() {
  index ??= load().catch(error => {
    index = undefined
    throw error
  })
  return index
}

async function load() {
  const [{ default: MiniSearch }, answer] = await Promise.all([
    import('./minisearch.js'),
    fetch('/docs/search.json', { credentials: 'omit' }),
  ])
  if (!answer.ok) throw new Error(`The index was answered with ${answer.status}`)
  return MiniSearch.loadJS(await answer.json(), INDEX_OPTIONS)
}

async function show() {
  const query = search.value.trim()
  panel.hidden = query === ''
  if (query === '') return
  const count = require('#found-count', HTMLElement)
  try {
    const loaded = await loadIndex()
    // More was typed while it was loaded.
    if (search.value.trim() !== query) return
    const found = findPlaces(loaded, query, RESULTS_MAX)
    list.replaceChildren(...found.map(resultOf))
    count.textContent = found.length === 0 ? 'Nothing was found.' : `Found: ${found.length}`
  } catch (error) {
    list.replaceChildren()
    count.textContent = `The search cannot be loaded: ${error instanceof Error ? error.message : error}`
  }
}

/** @param {import('./find.js').Found} found */
function resultOf({ to, title, page, kind }) {
  const link = document.createElement('a')
  link.href = to
  link.append(element('span', title, 'found-title'))
  const place = [KINDS.get(kind), page === title ? undefined : page].filter(part => part !== undefined)
  link.append(element('span', place.join(' · '), 'soft'))
  const item = document.createElement('li')
  item.append(link)
  return item
}
