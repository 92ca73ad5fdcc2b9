/**
 * The request that a form describes.
 *
 * @typedef {object} ApiRequest
 * @property {string} method
 * @property {string} path With its parameters and query filled in.
 * @property {Record<string, string>} headers Without the credential.
 * @property {string | null} body
 * @property {boolean} isDownload
 * @property {boolean} isStream Whether it is answered with events, as long as it is open.
 * @property {boolean} isPublic Whether it takes no credential.
 * @property {string[]} missing Names of path parameters that are still empty.
 */

/**
 * @param {HTMLFormElement} form
 * @returns {ApiRequest}
 */
export function readRequest(form) {
  const { method = 'GET', path = '' } = form.dataset
  const query = new URLSearchParams()
  /** @type {Record<string, string>} */
  const headers = {}
  /** @type {string[]} */
  const missing = []
  let filled = path
  /** @type {string | null} */
  let body = null
  for (const field of fieldsOf(form)) {
    const { in: place, name = '', kind } = field.dataset
    const value = place === 'body' ? field.value : field.value.trim()
    if (place === 'path') {
      if (value === '') missing.push(name)
      else filled = filled.replace(`{${name}}`, encodeURIComponent(value))
    } else if (value === '') continue
    else if (place === 'query')
      for (const one of kind === 'list' ? value.split(',') : [value]) query.append(name, one.trim())
    else if (place === 'header') headers[name] = value
    else body = value
  }
  if (body !== null) headers['Content-Type'] = 'application/json'
  const search = query.toString()
  return {
    method,
    path: search === '' ? filled : `${filled}?${search}`,
    headers,
    body,
    isDownload: form.dataset['kind'] === 'download',
    isStream: form.dataset['kind'] === 'stream',
    isPublic: form.dataset['scope'] === 'none',
    missing,
  }
}

/**
 * @param {ParentNode} parent
 * @returns {NodeListOf<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>}
 */
export function fieldsOf(parent) {
  return parent.querySelectorAll('[data-in]')
}

/**
 * Sends a request, to this service only.
 *
 * @param {Pick<ApiRequest, 'method' | 'path' | 'headers' | 'body'>} request
 * @param {string} credential
 * @param {AbortSignal} signal
 */
export function sendRequest(request, credential, signal) {
  const { headers } = request
  return fetch(request.path, {
    method: request.method,
    headers: credential === '' ? headers : { ...headers, Authorization: `Bearer ${credential}` },
    body: request.body,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    signal,
  })
}
