import { html } from 'hono/html'
import { type OpenapiDocument, type Schema, nameOf, resolve } from './document.ts'
import { type Markup, code, joined, prose } from './markup.ts'

/** The type of a value in words: `array of Address`, `uuid or null`. Named schemas link to their description. */
export function typeOf(schema: Schema): Markup {
  if (schema.$ref !== undefined) return schemaLink(nameOf(schema.$ref))
  if (schema.const !== undefined) return code(schema.const)
  if (schema.anyOf) return joined(schema.anyOf.map(typeOf), ' or ')
  if (schema.items) return html`array of ${typeOf(schema.items)}`
  if (schema.enum) return joined(schema.enum.map(code), ' | ')
  if (Array.isArray(schema.type)) return schema.type.join(' or ')
  if (schema.type === 'string' && schema.format !== undefined) return schema.format
  return schema.type ?? 'any'
}

function schemaLink(name: string): Markup {
  return html`<a href="/docs/reference/schemas#schema-${name}">${name}</a>`
}

/** Limits and default in words: `1 to 200`, `at most 512 characters`, `default 50`. */
export function limitsOf(schema: Schema): Markup {
  return joined(limitsIn(schema), ', ')
}

function limitsIn(schema: Schema): Markup[] {
  const bounds = [
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minItems, schema.maxItems, 'items'),
  ]
  return [
    ...bounds.filter(bound => bound !== ''),
    ...(schema.anyOf ?? []).flatMap(limitsIn),
    ...(schema.items ? limitsIn(schema.items) : []),
    ...(schema.default === undefined ? [] : [html`default ${code(schema.default)}`]),
  ]
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  // For an unbounded integer, JSON Schema states the range of a number.
  const from = min === Number.MIN_SAFE_INTEGER ? undefined : min
  const to = max === Number.MAX_SAFE_INTEGER ? undefined : max
  const bounds =
    from !== undefined && to !== undefined
      ? `${from} to ${to}`
      : to !== undefined
        ? `at most ${to}`
        : from !== undefined
          ? `at least ${from}`
          : ''
  return bounds === '' ? '' : `${bounds} ${unit}`.trimEnd()
}

/**
 * The fields of an object as a nested list; empty for other types. In `input`, required fields are marked; in
 * responses, optional ones.
 */
export function fieldsOf(schema: Schema, place: 'input' | 'response'): Markup {
  const object = objectIn(schema)
  if (!object?.properties) return ''
  const required = new Set(object.required)
  return html`<ul class="fields">
    ${Object.entries(object.properties).map(([name, field]) => fieldOf(name, field, required.has(name), place))}
  </ul>`
}

function fieldOf(name: string, field: Schema, isRequired: boolean, place: 'input' | 'response'): Markup {
  const mark =
    place === 'input' && isRequired ? 'required' : place === 'response' && !isRequired ? 'optional' : ''
  const limits = limitsOf(field)
  return html`<li>
    <code class="name">${name}</code>
    <span class="type">${typeOf(field)}</span>
    ${mark === '' ? '' : html`<span class="${mark}">${mark}</span>`} <span class="limits">${limits}</span>
    ${field.description === undefined ? '' : html`<p>${prose(field.description)}</p>`}
    ${fieldsOf(field, place)}
  </li>`
}

/** The unnamed object that a schema is, has as its items, or is in union with null. */
function objectIn(schema: Schema): Schema | undefined {
  if (schema.properties) return schema
  if (schema.items) return objectIn(schema.items)
  return schema.anyOf?.map(objectIn).find(found => found !== undefined)
}

/** The type and fields of a body or a response. A named schema and the items of a page are shown with their fields. */
export function describe(document: OpenapiDocument, schema: Schema, place: 'input' | 'response'): Markup {
  const resolved = resolve(document, schema)
  const items = resolved.properties?.['items']?.items
  const name = schema.$ref === undefined ? '' : html`<p class="type">${typeOf(schema)}</p>`
  const fields = html`${name} ${fieldsOf(resolved, place)}`
  if (items?.$ref === undefined) return fields
  return html`${fields}
    <p class="type items">Each of <code>items</code>, ${typeOf(items)}:</p>
    ${fieldsOf(resolve(document, items), place)}`
}

/** A section of the page for one named schema. */
export function schemaSection(name: string, schema: Schema): Markup {
  const base = (schema.allOf ?? []).map(typeOf)
  return html`<details class="schema unit">
    <summary><code>${name}</code></summary>
    <div id="schema-${name}">
      ${schema.description === undefined ? '' : html`<p>${prose(schema.description)}</p>`}
      ${base.length > 0 ? html`<p class="type">As ${joined(base, ' and ')}, where:</p>` : ''}
      ${schema.properties ? '' : html`<p class="type">${typeOf(schema)} ${limitsOf(schema)}</p>`}
      ${fieldsOf(schema, 'response')}
    </div>
  </details>`
}
