import { tokensOf } from './json.js'

/** @typedef {import('./request.js').ApiRequest} ApiRequest */

/**
 * Writers of a request as code. The code never contains the credential: each takes it from the environment.
 *
 * @type {Record<string, (request: ApiRequest, origin: string) => string>}
 */
export const SNIPPETS = { curl: curlOf, node: nodeOf, python: pythonOf }

/** @param {ApiRequest} request @param {string} origin */
function curlOf({ method, path, headers, body, isDownload, isStream, isPublic }, origin) {
  const program = isStream ? 'curl -N' : isDownload ? 'curl -OJ' : 'curl -i'
  const lines = [
    method === 'GET' || (method === 'POST' && body !== null) ? program : `${program} -X ${method}`,
    shellWord(origin + path),
    ...(isPublic ? [] : ['-H "Authorization: Bearer $WAXWING_KEY"']),
    ...Object.entries(headers).map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`--data-raw ${shellWord(body)}`]),
  ]
  return `${lines[0]} ${lines.slice(1).join(' \\\n  ')}`
}

/** Quotes any text as one word for a POSIX shell. @param {string} text */
function shellWord(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** @param {ApiRequest} request @param {string} origin */
function nodeOf({ method, path, headers, body, isDownload, isStream, isPublic }, origin) {
  const fields = [
    ...(isPublic ? [] : ['Authorization: `Bearer ${process.env.WAXWING_KEY}`']),
    ...Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`method: ${quoted(method)}`]),
    ...(fields.length === 0 ? [] : [`headers: {\n    ${fields.join(',\n    ')},\n  }`]),
    ...(body === null ? [] : [`body: ${nodeBody(body)}`]),
  ]
  const rest = options.length === 0 ? '' : `, {\n  ${options.join(',\n  ')},\n}`
  const request = `const response = await fetch(${quoted(origin + path)}${rest})`
  if (isStream)
    return `${request}\nfor await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text)`
  if (!isDownload) return `${request}\nconsole.log(response.status, await response.json())`
  return `import { writeFile } from 'node:fs/promises'\n\n${request}\nawait writeFile('download', Buffer.from(await response.arrayBuffer()))`
}

/** JSON is valid JavaScript, except that a key `__proto__` sets no field. @param {string} body */
function nodeBody(body) {
  return isJson(body) && !body.includes('__proto__') ? `JSON.stringify(${indented(body)})` : quoted(body)
}

/** @param {ApiRequest} request @param {string} origin */
function pythonOf({ method, path, headers, body, isDownload, isStream, isPublic }, origin) {
  const hasJson = body !== null && isJson(body)
  const fields = [
    ...(isPublic ? [] : [`"Authorization": f"Bearer {os.environ['WAXWING_KEY']}"`]),
    ...Object.entries(headers)
      .filter(([name]) => !hasJson || name !== 'Content-Type')
      .map(([name, value]) => `${quoted(name, '"')}: ${quoted(value, '"')}`),
  ]
  const options = [
    quoted(origin + path, '"'),
    ...(fields.length === 0 ? [] : [`headers={\n        ${fields.join(',\n        ')},\n    }`]),
    ...(body === null ? [] : [hasJson ? `json=${pythonBody(body)}` : `data=${quoted(body, '"')}.encode()`]),
    ...(isStream ? ['stream=True'] : []),
  ]
  const result = isStream
    ? 'for line in response.iter_lines():\n    print(line.decode())'
    : isDownload
      ? 'with open("download", "wb") as file:\n    file.write(response.content)'
      : 'print(response.status_code, response.json())'
  const imports = isPublic ? 'import requests' : 'import os\nimport requests'
  return `${imports}\n\nresponse = requests.${method.toLowerCase()}(\n    ${options.join(',\n    ')},\n)\n${result}`
}

const PYTHON_WORDS = new Map([
  ['true', 'True'],
  ['false', 'False'],
  ['null', 'None'],
])

/** Translates JSON into a Python literal. @param {string} body */
function pythonBody(body) {
  const literal = tokensOf(body).map(({ kind, text }) => {
    if (kind === 'word') return PYTHON_WORDS.get(text) ?? text
    // Python does not know every escape of JSON, such as `\/`.
    return kind === 'string' || kind === 'key' ? JSON.stringify(JSON.parse(text)) : text
  })
  return indented(literal.join(''), '    ')
}

/** Indents the lines after the first to their position in the call. @param {string} text @param {string} [indent] */
function indented(text, indent = '  ') {
  return text.trim().replaceAll('\n', `\n${indent}`)
}

/** Writes a string literal of JavaScript or Python. @param {string} text @param {"'" | '"'} [quote] */
function quoted(text, quote = "'") {
  const inner = JSON.stringify(text).slice(1, -1)
  return quote === '"' ? `"${inner}"` : `'${inner.replaceAll('\\"', '"').replaceAll("'", String.raw`\'`)}'`
}

/** @param {string} text */
function isJson(text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
