/**
 * What a form asks for.
 *
 * @typedef {object} ApiRequest
 * @property {string} method
 * @property {string} path With its parameters and query filled in.
 * @property {Record<string, string>} headers Without the credential.
 * @property {string | null} body
 * @property {boolean} isDownload
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
 * The request as a line for a shell. The key is not in it: it is taken from the environment.
 *
 * @param {ApiRequest} request
 * @param {string} origin
 */
export function curlOf({ method, path, headers, body, isDownload }, origin) {
  const program = isDownload ? 'curl -OJ' : 'curl -i'
  const lines = [
    method === 'GET' || (method === 'POST' && body !== null) ? program : `${program} -X ${method}`,
    quote(origin + path),
    '-H "Authorization: Bearer $WAXWING_KEY"',
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`--data-raw ${quote(body)}`]),
  ]
  return `${lines[0]} ${lines.slice(1).join(' \\\n  ')}`
}

/** One word for a POSIX shell, whatever it holds. @param {string} text */
function quote(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
