import { html } from 'hono/html'
import type { Markup } from './markup.ts'

/** The button of the header that opens the panel. */
export function credentialButton(): Markup {
  return html`<button type="button" class="needs-script" popovertarget="credential">
    API key <span id="key-state" class="soft">not set</span>
  </button>`
}

/** The panel for the key with which requests are sent. */
export function credentialPanel(): Markup {
  return html`<div id="credential" popover>
    <label for="key">API key</label>
    <input id="key" type="password" placeholder="wk_…" autocomplete="off" spellcheck="false" />
    <p class="choice">
      <input id="keep" type="checkbox" />
      <label for="keep">Keep it in this tab when the page is reloaded</label>
    </p>
    <p class="soft">
      The key is sent with requests from this page. It never appears in a URL or an example. Unless you keep
      it, it is forgotten when you leave the page.
    </p>
    <p>
      <button type="button" popovertarget="credential" popovertargetaction="hide">Done</button>
      <button id="forget" type="button">Forget</button>
    </p>
  </div>`
}

/** The dialog that asks before something is deleted. */
export function confirmDialog(): Markup {
  return html`<dialog
    id="confirm"
    aria-labelledby="confirm-title"
    aria-describedby="confirm-target confirm-effect"
  >
    <h2 id="confirm-title"></h2>
    <pre id="confirm-request"></pre>
    <dl id="confirm-target"></dl>
    <p id="confirm-effect"></p>
    <p class="buttons">
      <button id="confirm-cancel" type="button" autofocus>Cancel</button>
      <button id="confirm-send" type="button" class="danger"></button>
    </p>
  </dialog>`
}
