/**
 * The call of an operation with the client of `@waxwing/sdk`.
 *
 * @typedef {object} SdkCall
 * @property {string} operationId
 * @property {string} origin Where the service is.
 * @property {boolean} isPublic Whether it takes no credential.
 * @property {'json' | 'download' | 'stream'} kind
 * @property {Record<string, unknown>} input Fields of the path, the query and the body together.
 * @property {string} [idempotencyKey]
 * @property {string} [ifMatch]
 */

/** Writes a program that makes the call. The key is taken from the environment. @param {SdkCall} call */
export function sdkCallOf({ operationId, origin, isPublic, kind, input, idempotencyKey, ifMatch }) {
  const key = isPublic ? '' : ', key: process.env.WAXWING_KEY'
  const options = { ...(idempotencyKey && { idempotencyKey }), ...(ifMatch && { ifMatch }) }
  const hasOptions = Object.keys(options).length > 0
  const hasInput = Object.keys(input).length > 0
  const given = [
    ...(hasInput || hasOptions ? [literal(input)] : []),
    ...(hasOptions ? [literal(options)] : []),
  ].join(', ')
  const call = `waxwing.${operationId}(${given})`
  const result =
    kind === 'stream'
      ? `for await (const event of ${call}) console.log(event)`
      : kind === 'download'
        ? `const download = await ${call}\nawait writeFile('download', await download.bytes())`
        : `console.log(await ${call})`
  return [
    ...(kind === 'download' ? ["import { writeFile } from 'node:fs/promises'"] : []),
    "import { Waxwing } from '@waxwing/sdk'",
    '',
    `const waxwing = new Waxwing({ baseUrl: ${quoted(origin)}${key} })`,
    result,
  ].join('\n')
}

/**
 * A value as a literal of JavaScript.
 *
 * @param {unknown} value
 * @param {string} [indent]
 * @returns {string}
 */
function literal(value, indent = '') {
  const inner = `${indent}  `
  if (typeof value === 'string') return quoted(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map(each => `${inner}${literal(each, inner)},\n`).join('')}${indent}]`
  }
  const fields = Object.entries(value)
  if (fields.length === 0) return '{}'
  return `{\n${fields.map(([name, each]) => `${inner}${nameOf(name)}: ${literal(each, inner)},\n`).join('')}${indent}}`
}

/** A name that is written as such sets the prototype of an object. @param {string} name */
function nameOf(name) {
  if (name === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

/** @param {string} text */
function quoted(text) {
  const inner = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll("'", String.raw`\'`)
  return `'${inner}'`
}
