import { html } from '../kit/html.ts'
import { renderPublicPage } from '../pages/public-page.ts'

/** The page of an outage, in place of one that cannot be shown for the moment. Its link opens the same address by GET. */
export function outagePage(): string {
  return renderPublicPage({
    heading: 'Please try again in a moment',
    content: html`<p>
        This page is not available for a short time. Your link still works. If you have just sent a form, it
        may not have been saved.
      </p>
      <p><a class="button first" href="">Try again</a></p>`,
  })
}
