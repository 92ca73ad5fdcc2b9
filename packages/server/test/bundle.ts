import { createHash, randomUUID } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { BUNDLE_VARIABLE, COMMAND_LINE, PROGRAMS } from './bundled-program.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const SERVER = path.join(ROOT, 'packages/server')
const BUNDLES = path.join(ROOT, 'node_modules/.cache/waxwing-tests/bundles')
const SOURCES = [
  'package-lock.json',
  'packages/{server,contract}/{package.json,bin/*.js,src/**/*.ts,test/**/*.ts}',
]
const KEPT_MS = 24 * 60 * 60 * 1000
/** Packages of many ES modules. Others, of CommonJS, load quickly by themselves. */
const BUNDLED = /^(?:[./]|@waxwing\/|kysely|zod|jose|hono|@hono\/|@orpc\/)/
const HELPER = '@oxc-project/runtime/helpers/taggedTemplateLiteral'

/**
 * Makes few files of the service's 2,000 modules, so that a process of a test starts with half of the processor time. The
 * modules keep the places of their sources, from which they read migrations, pages and the scripts of threads. The folder
 * is laid out like a package. Its name comes from the sources, so it is made again when one of them changes.
 */
export async function makeBundle(): Promise<void> {
  const folder = path.join(BUNDLES, fingerprint())
  process.env[BUNDLE_VARIABLE] = folder
  if (existsSync(folder)) return
  const unfinished = path.join(BUNDLES, randomUUID())
  await using bundle = await rolldown({
    input: { 'cli/main': path.join(SERVER, 'src/cli/main.ts'), ...PROGRAMS },
    platform: 'node',
    tsconfig: false,
    transform: { target: 'esnext' },
    external: name => !BUNDLED.test(name) && name !== HELPER,
    plugins: [ownPlaces, templateHelper],
  })
  await bundle.write({ dir: path.join(unfinished, 'dist'), format: 'esm' })
  mkdirSync(path.join(unfinished, 'bin'))
  copyFileSync(COMMAND_LINE, path.join(unfinished, 'bin', path.basename(COMMAND_LINE)))
  writeFileSync(path.join(unfinished, 'package.json'), '{ "type": "module" }')
  removeOld()
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    rmSync(unfinished, { recursive: true })
    // Another run was quicker.
    if (!existsSync(folder)) throw error
  }
}

const ownPlaces: Plugin = {
  name: 'own-places',
  transform: (code, file) =>
    code.includes('import.meta.')
      ? code
          .replaceAll(/\bimport\.meta\.url\b/g, JSON.stringify(pathToFileURL(file).href))
          .replaceAll(/\bimport\.meta\.filename\b/g, JSON.stringify(file))
          .replaceAll(/\bimport\.meta\.dirname\b/g, JSON.stringify(path.dirname(file)))
      : null,
}

/** The bundler needs it for templates with the text `</script>`. */
const templateHelper: Plugin = {
  name: 'template-helper',
  resolveId: name => (name === HELPER ? `\0${HELPER}` : null),
  load: name =>
    name === `\0${HELPER}`
      ? 'export default (strings, raw) => Object.assign(strings, { raw: raw ?? strings })'
      : null,
}

function fingerprint(): string {
  const hash = createHash('sha256').update(readFileSync(import.meta.filename))
  for (const file of SOURCES.flatMap(pattern => globSync(pattern, { cwd: ROOT })).toSorted())
    hash.update(`${file}\n`).update(readFileSync(path.join(ROOT, file)))
  return hash.digest('hex').slice(0, 16)
}

/** Removes bundles of former sources, but none that a run of this day may use. */
function removeOld(): void {
  for (const name of globSync('*', { cwd: BUNDLES })) {
    const folder = path.join(BUNDLES, name)
    // Another run may rename or remove it meanwhile.
    const found = statSync(folder, { throwIfNoEntry: false })
    if (found && found.mtimeMs < Date.now() - KEPT_MS) rmSync(folder, { recursive: true, force: true })
  }
}
