import { expect, onTestFinished, test } from 'vitest'
import { chooseLanguage, chosenLanguage } from '../../../../scripts/docs/browser/language.js'

test('examples are in curl, or the language chosen on the page, if the browser blocks the data of sites', () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'localStorage')
  onTestFinished(() => {
    if (before) Object.defineProperty(globalThis, 'localStorage', before)
    else Reflect.deleteProperty(globalThis, 'localStorage')
  })
  Object.defineProperty(globalThis, 'localStorage', {
    configurable: true,
    get() {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    },
  })
  expect(chosenLanguage()).toBe('curl')
  chooseLanguage('python')
  expect(chosenLanguage()).toBe('python')
})
