import { type Html, html, trustedText } from '../../../kit/html.ts'

/** Sends each form once. A page that comes back out of the browser's history can be sent again. */
export const SCRIPT = `
for (const form of document.forms)
  form.addEventListener('submit', event => {
    if (form.dataset.sent) return event.preventDefault()
    form.dataset.sent = 'true'
    const waiting = form.querySelector('[data-waiting]')
    if (waiting) waiting.textContent = waiting.dataset.waiting
  })
addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset.sent
  for (const waiting of document.querySelectorAll('[data-waiting]')) waiting.textContent = ''
})
`

/** Part of each page with forms. Without scripts, the service takes the first form that it gets. */
export const sendOnce: Html = trustedText(`<script>${SCRIPT}</script>`)

/** What a form says while its answer is awaited. Screen readers hear it. */
export function waitingText(text: string): Html {
  return html`<p class="waiting" role="status" data-waiting="${text}"></p>`
}
