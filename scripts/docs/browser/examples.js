import { element } from './elements.js'
import { chooseLanguage, chosenLanguage } from './language.js'

/** Shows the examples of a page in one language at a time, with buttons to choose it. */
export function showExamples() {
  const examples = [...document.querySelectorAll('.example')]
  for (const example of examples) addButtons(example)
  update(examples)
}

/** @param {Element} example */
function addButtons(example) {
  const bar = element('div', '', 'languages')
  bar.setAttribute('role', 'group')
  bar.setAttribute('aria-label', 'Language of the example')
  for (const variant of variantsOf(example)) {
    const button = element('button', variant.querySelector('.label')?.textContent ?? '', 'language')
    button.type = 'button'
    button.dataset['language'] = variant.dataset['languageOf']
    button.addEventListener('click', () => {
      chooseLanguage(button.dataset['language'] ?? 'curl')
      const before = button.getBoundingClientRect().top
      update([...document.querySelectorAll('.example')])
      // Examples above this one may have other lengths now.
      scrollBy(0, button.getBoundingClientRect().top - before)
    })
    bar.append(button)
  }
  example.prepend(bar)
}

/** @param {Element[]} examples */
function update(examples) {
  const chosen = chosenLanguage()
  for (const example of examples) {
    const variants = variantsOf(example)
    const shown = variants.find(variant => variant.dataset['languageOf'] === chosen) ?? variants[0]
    for (const variant of variants) variant.hidden = variant !== shown
    for (const button of example.querySelectorAll('.language'))
      button.setAttribute(
        'aria-pressed',
        String(button.getAttribute('data-language') === shown?.dataset['languageOf']),
      )
  }
}

/** @param {Element} example @returns {HTMLElement[]} */
function variantsOf(example) {
  return [...example.querySelectorAll('.variant')].filter(variant => variant instanceof HTMLElement)
}
