/**
 * Extracts what the clouds of Microsoft lack from their published schemas, which are too large to keep:
 * `node scripts/csdl-extract.ts <folder with v1.0-Prod.csdl, v1.0-Fairfax.csdl and v1.0-Mooncake.csdl> <commit>`.
 * The schemas are `schemas/` of https://github.com/microsoftgraph/msgraph-metadata.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const TARGET = path.resolve(
  import.meta.dirname,
  '../packages/server/src/providers/microsoft/csdl-extract.json',
)
const SCHEMAS = ['Prod', 'Fairfax', 'Mooncake']

/** Operations and properties that the table of clouds depends on. */
const ACTIONS = ['createUploadSession', 'permanentDelete']
const FUNCTIONS = ['delta']
const TYPES = /graph\.(?:message|mailFolder|attachment|contact)$/
const PROPERTY = /<NavigationProperty Name="masterCategories" /

const [folder, commit] = process.argv.slice(2)
if (folder === undefined || commit === undefined) throw new Error('Name the folder and the commit')

/** Types that operations of this name are bound to, as far as they concern mail and contacts. */
function boundTo(schema: string, kind: 'Action' | 'Function', name: string): string[] {
  const operation = new RegExp(
    `<${kind} Name="${name}"[^>]*IsBound="true"[^>]*>\\s*<Parameter Name="bindingParameter" Type="([^"]+)"`,
    'gi',
  )
  return [...schema.matchAll(operation)]
    .map(([, type = '']) => type)
    .filter(type => TYPES.test(type.replace(/^Collection\((.*)\)$/, '$1')))
    .toSorted()
}

const schemas = Object.fromEntries(
  SCHEMAS.map(name => {
    const schema = readFileSync(path.join(folder, `v1.0-${name}.csdl`), 'utf8')
    return [
      name,
      {
        ...Object.fromEntries(ACTIONS.map(action => [action, boundTo(schema, 'Action', action)])),
        ...Object.fromEntries(FUNCTIONS.map(one => [one, boundTo(schema, 'Function', one)])),
        hasMasterCategories: PROPERTY.test(schema),
      },
    ]
  }),
)

const source = 'https://github.com/microsoftgraph/msgraph-metadata, schemas/v1.0-*.csdl'
writeFileSync(TARGET, `${JSON.stringify({ source, commit, schemas }, null, 2)}\n`)
