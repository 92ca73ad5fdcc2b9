import { html, raw } from 'hono/html'

/** Markup whose values are escaped. */
export type Markup = ReturnType<typeof html>

const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { max-width: 28rem; margin: 3rem auto; padding: 0 1rem }
  main { border: 1px solid #8886; padding: 1.5rem }
  h1 { font-size: 1.4rem; margin-top: 0 }
  button { font: inherit; padding: .5rem 1rem; border: 1px solid #8886; cursor: pointer }
  .user { display: block; width: 100%; text-align: start; margin: .5rem 0 }
  .allow { background: var(--allow); border-color: var(--allow); color: #fff }
  label { display: block; margin: .75rem 0 }
  .note, small { opacity: .75 }
`

/** Makes the pages of a provider's sign-in. `ownStyle` sets `--allow`, the color of the button that allows. */
export const openPages =
  (provider: string, ownStyle: string) =>
  (title: string, content: Markup): Markup =>
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width" />
          <title>${title}</title>
          <style>
            ${raw(STYLE + ownStyle)}
          </style>
        </head>
        <body>
          <main>${content}</main>
          <p class="note">
            This is the Waxwing sandbox. It plays ${provider} for tests, and knows no real accounts.
          </p>
        </body>
      </html>`
