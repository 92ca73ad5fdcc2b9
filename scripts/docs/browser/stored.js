/**
 * Reads a text that the browser keeps; null if there is none. A browser that blocks the data of sites throws at every use
 * of a storage, which must not end the script of the page.
 *
 * @param {'localStorage' | 'sessionStorage'} storage
 * @param {string} name
 */
export function readStored(storage, name) {
  try {
    return globalThis[storage].getItem(name)
  } catch {
    return null
  }
}

/**
 * Keeps a text if the browser allows it; null removes it.
 *
 * @param {'localStorage' | 'sessionStorage'} storage
 * @param {string} name
 * @param {string | null} text
 */
export function store(storage, name, text) {
  try {
    if (text === null) globalThis[storage].removeItem(name)
    else globalThis[storage].setItem(name, text)
  } catch {
    // The text is known until the page is left.
  }
}
