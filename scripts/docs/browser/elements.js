/**
 * Finds the element of a selector, which the page is known to have.
 *
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} type
 * @param {ParentNode} [parent]
 * @returns {T}
 */
export function require(selector, type, parent = document) {
  const found = parent.querySelector(selector)
  if (!(found instanceof type)) throw new Error(`The page lacks ${selector}`)
  return found
}

/**
 * Creates an element with a text, which is never parsed as markup.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 * @param {string} text
 * @param {string} [className]
 */
export function element(name, text, className) {
  const made = document.createElement(name)
  made.textContent = text
  if (className !== undefined) made.className = className
  return made
}
