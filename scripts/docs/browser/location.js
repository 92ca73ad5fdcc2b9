import { require } from './elements.js'

/** Whether the window is wide enough to show the navigation beside the content. */
const IS_WIDE = matchMedia('(min-width: 70rem)')
/** The reading position, as a fraction of the window's height from the top. */
const READING_LINE = 0.3

/** @typedef {{ link: HTMLAnchorElement, target: Element }} Entry */

const contents = require('.contents', HTMLDetailsElement)
const nav = require('nav', HTMLElement)

/** Marks the current section in the navigation, and keeps it in view there. */
export function followLocation() {
  const entries = entriesOf()
  let isPlanned = false
  const plan = () => {
    if (isPlanned) return
    isPlanned = true
    requestAnimationFrame(() => {
      isPlanned = false
      mark(entries)
    })
  }
  contents.open = IS_WIDE.matches
  IS_WIDE.addEventListener('change', () => (contents.open = IS_WIDE.matches))
  nav.addEventListener('click', event => {
    if (event.target instanceof Element && event.target.closest('a') && !IS_WIDE.matches)
      contents.open = false
  })
  addEventListener('scroll', plan, { passive: true })
  addEventListener('resize', plan)
  addEventListener('hashchange', plan)
  document.addEventListener('toggle', plan, { capture: true })
  document.addEventListener('input', plan)
  plan()
}

/** @returns {Entry[]} */
function entriesOf() {
  return [...nav.querySelectorAll('a[href^="#"]')].flatMap(link => {
    const id = link.getAttribute('href')?.slice(1) ?? ''
    const named = document.getElementById(id)
    // Content of closed details has no position of its own.
    const target = named?.closest('details') ?? named
    return link instanceof HTMLAnchorElement && target ? [{ link, target }] : []
  })
}

/** @param {Entry[]} entries */
function mark(entries) {
  const current = currentOf(entries)
  for (const { link } of entries) {
    if (link === current?.link) link.setAttribute('aria-current', 'location')
    else link.removeAttribute('aria-current')
  }
  require('.here', HTMLElement).textContent = current ? ` · ${labelOf(current.link)}` : ''
  if (current && IS_WIDE.matches) keepInView(current.link)
}

/**
 * The section that the URL names, while its beginning is visible; otherwise the last one that begins above the reading
 * line.
 *
 * @param {Entry[]} entries
 */
function currentOf(entries) {
  const shown = entries
    .map(entry => ({ ...entry, box: entry.target.getBoundingClientRect() }))
    .filter(({ box }) => box.height > 0)
  const named = shown.find(({ link }) => link.hash === location.hash && location.hash !== '')
  if (named && named.box.top >= 0 && named.box.top < innerHeight) return named
  return shown.findLast(({ box }) => box.top <= innerHeight * READING_LINE)
}

/** @param {HTMLAnchorElement} link */
function labelOf(link) {
  const method = link.querySelector('.method')?.textContent ?? ''
  return link.textContent.trim().replace(method, '').trim()
}

/** Scrolls only the navigation; `scrollIntoView` would also move the page. @param {Element} link */
function keepInView(link) {
  const box = link.getBoundingClientRect()
  const around = nav.getBoundingClientRect()
  if (box.top < around.top) nav.scrollTop -= around.top - box.top + box.height
  else if (box.bottom > around.bottom) nav.scrollTop += box.bottom - around.bottom + box.height
}
