import { expect, test } from 'vitest'
import { html, trustedText } from './html.ts'

test.each([
  ['text', html`<p>${'<b>&amp;'}</p>`, '<p>&lt;b&gt;&amp;amp;</p>'],
  ['an attribute', html`<a title="${`"'`}">x</a>`, '<a title="&quot;&#39;">x</a>'],
  ['markup', html`<p>${html`<b>${'<'}</b>`}</p>`, '<p><b>&lt;</b></p>'],
  ['a list', html`${['<', html`<br />`, ['&']]}`, '&lt;<br />&amp;'],
  ['nothing', html`<p>${null}${false}${''}</p>`, '<p></p>'],
  ['zero', html`${0}`, '0'],
  ['trusted text', html`<b>${trustedText('a > b {}')}</b>`, '<b>a > b {}</b>'],
])('renders %s', (_, markup, text) => expect(String(markup)).toBe(text))
