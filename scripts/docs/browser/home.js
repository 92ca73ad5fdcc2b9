import { startPage } from './start-page.js'

/** Follows a link to an operation or schema that was on this page once. */
function goOn() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  const link = target?.querySelector('[data-goes-on]')
  if (link instanceof HTMLAnchorElement) location.replace(link.href)
}

startPage()
addEventListener('hashchange', goOn)
if (location.hash !== '') goOn()
