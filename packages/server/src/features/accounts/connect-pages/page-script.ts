import { type Html, html, trustedText } from '../../../kit/html.ts'

/**
 * Sends each form once, shows passwords if that is wanted until the form is sent, and lets placeholders follow choices. A
 * page that comes back out of the browser's history can be sent again.
 */
export const SCRIPT = `
const fieldOf = reveal => document.getElementById(reveal.dataset.reveals)
const show = (reveal, isShown) => {
  fieldOf(reveal).type = isShown ? 'text' : 'password'
  reveal.firstChild.data = isShown ? 'Hide' : 'Show'
}
for (const reveal of document.querySelectorAll('[data-reveals]')) {
  reveal.hidden = false
  reveal.addEventListener('click', () => show(reveal, fieldOf(reveal).type === 'password'))
}
const choices = document.querySelectorAll('[data-places]')
const place = choice => {
  document.getElementById(choice.dataset.places).placeholder = choice.selectedOptions[0].dataset.placeholder
}
for (const choice of choices) choice.addEventListener('change', () => place(choice))
for (const form of document.forms)
  form.addEventListener('submit', event => {
    if (form.dataset.sent) return event.preventDefault()
    form.dataset.sent = 'true'
    for (const reveal of form.querySelectorAll('[data-reveals]')) show(reveal, false)
    const waiting = form.querySelector('[data-waiting]')
    if (waiting) waiting.textContent = waiting.dataset.waiting
  })
addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset.sent
  for (const waiting of document.querySelectorAll('[data-waiting]')) waiting.textContent = ''
  // The browser restores the last choice.
  for (const choice of choices) place(choice)
})
`

/** Part of each page with forms. Without scripts, the service takes the first form that it gets. */
export const pageScript: Html = trustedText(`<script>${SCRIPT}</script>`)

/** A text that a form shows while it waits for its answer. Screen readers announce it. */
export function waitingText(text: string): Html {
  return html`<p class="waiting" role="status" data-waiting="${text}"></p>`
}
