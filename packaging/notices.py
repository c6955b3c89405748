#!/usr/bin/env python3
"""Writes what the release jar tells of the crates inside: their licences, and a bill of materials (CycloneDX).

Usage: notices.py DIST; it reads DIST/native and writes to DIST/META-INF. The crates are those that `cargo tree` has for the library on the two platforms,
without build scripts and macros, which are not in it. Fails when a crate has neither a licence file nor a licence whose text
is known here.
"""

import glob
import json
import os
import re
import subprocess
import sys

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLATFORMS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
LIBRARY = "pubsub-flink"
LICENCE_FILE = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def metadata(platform):
    return json.loads(
        subprocess.check_output(
            ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", platform],
            cwd=REPO,
        )
    )


def tree(platform):
    """Names and versions of what is linked; `cargo metadata` would add what only tests and the server switch on."""
    command = ["cargo", "tree", "--locked", "-p", LIBRARY, "--target", platform]
    command += ["-e", "normal,no-proc-macro", "--prefix", "none", "-f", "{p}"]
    lines = subprocess.check_output(command, cwd=REPO, text=True).splitlines()
    return {(line.split()[0], line.split()[1].removeprefix("v")) for line in lines if line}


def linked(platform):
    """The packages in the library and, for each, those it uses directly."""
    data = metadata(platform)
    inside = tree(platform)
    packages = {
        package["id"]: package for package in data["packages"] if (package["name"], package["version"]) in inside
    }
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    todo = [id for id, package in packages.items() if package["name"] == LIBRARY]
    found, uses = {}, {}
    while todo:
        id = todo.pop()
        if id in found:
            continue
        found[id] = packages[id]
        uses[id] = sorted(
            dep["pkg"]
            for dep in nodes[id]["deps"]
            if any(kind["kind"] is None for kind in dep["dep_kinds"]) and dep["pkg"] in packages
        )
        todo.extend(uses[id])
    missing = inside - {(package["name"], package["version"]) for package in found.values()}
    if missing:
        sys.exit("no way leads to %s" % sorted(missing))
    return found, uses


def checksums():
    """SHA-256 of each crate's package, as Cargo.lock has it."""
    sums, name, version = {}, None, None
    with open(os.path.join(REPO, "Cargo.lock")) as lock:
        for line in lock:
            key, _, value = line.strip().partition(" = ")
            if key == "name":
                name = value.strip('"')
            elif key == "version":
                version = value.strip('"')
            elif key == "checksum":
                sums[name, version] = value.strip('"')
    return sums


def licence_texts(package):
    folder = os.path.dirname(package["manifest_path"])
    texts = {}
    for path in sorted(glob.glob(os.path.join(folder, "**"), recursive=True)):
        shown = os.path.relpath(path, folder)
        parts = shown.split(os.sep)
        if os.path.isfile(path) and LICENCE_FILE.match(parts[-1]) and not {"tests", "examples", "benches", "src"} & set(parts):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts[shown] = file.read().strip().replace("\r\n", "\n")
    return texts


def purl(package):
    return "pkg:cargo/%s@%s" % (package["name"], package["version"])


def notices(packages, rustc):
    """One text: a list of the crates, then each licence text once with the files that it stands for."""
    by_text, lines = {}, []
    for package in packages:
        name = "%s %s" % (package["name"], package["version"])
        expression = package["license"] or "see its licence file"
        lines.append("%-44s %s" % (name, expression))
        if package["source"] is None:
            continue  # This project's own; META-INF/LICENSE.
        texts = licence_texts(package)
        if not texts:
            if "Apache-2.0" not in expression and "MIT" not in expression:
                sys.exit("%s (%s) has no licence file" % (name, expression))
            owners = ", ".join(package["authors"]) or "the authors of %s" % package["name"]
            with open(os.path.join(REPO, "LICENSE")) as file:
                apache = file.read().strip()
            with open(os.path.join(REPO, "packaging", "MIT.txt")) as file:
                mit = file.read().strip().replace("OWNERS", owners)
            texts = {"LICENSE": apache if "Apache-2.0" in expression else mit}
        for file, text in texts.items():
            by_text.setdefault(text, []).append("%s (%s)" % (name, file))
    out = [
        "The native libraries in this jar contain the Rust crates below, Rust's standard library (MIT OR Apache-2.0; %s)" % rustc,
        "and the unwinder of LLVM (Apache-2.0 WITH LLVM-exception). The licence texts follow; Apache-2.0 is also META-INF/LICENSE.",
        "",
        *lines,
    ]
    for text, files in sorted(by_text.items(), key=lambda item: item[1]):
        out += ["", "=" * 100, *files, "-" * 100, text]
    return "\n".join(out) + "\n"


def bill(packages, uses, version):
    sums = checksums()
    own = next(package for package in packages if package["name"] == LIBRARY)
    refs = {package["id"]: purl(package) for package in packages}

    def component(package):
        entry = {
            "type": "library",
            "bom-ref": purl(package),
            "name": package["name"],
            "version": package["version"],
            "purl": purl(package),
        }
        if package["license"]:
            # A slash is cargo's old way to write OR.
            entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        checksum = sums.get((package["name"], package["version"]))
        if checksum:
            entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return entry

    jar = "pkg:maven/io.github.flinkpubsub/flink-connector-pubsub-native@" + version
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": jar,
                "group": "io.github.flinkpubsub",
                "name": "flink-connector-pubsub-native",
                "version": version,
                "purl": jar,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": [component(package) for package in packages],
        "dependencies": [{"ref": jar, "dependsOn": [purl(own)]}]
        + [
            {"ref": refs[package["id"]], "dependsOn": sorted(refs[id] for id in uses[package["id"]])}
            for package in packages
        ],
    }


def main():
    dist = sys.argv[1]
    out = os.path.join(dist, "META-INF")
    compilers = {}
    for path in sorted(glob.glob(os.path.join(dist, "native", "*", "rustc"))):
        with open(path) as file:
            compilers[os.path.basename(os.path.dirname(path))] = file.read().strip()
    rustc = ", ".join(sorted(set(compilers.values())))
    found, uses = {}, {}
    for platform in PLATFORMS:
        crates, direct = linked(platform)
        found.update(crates)
        for id, used in direct.items():
            uses[id] = sorted(set(used) | set(uses.get(id, [])))
    packages = sorted(found.values(), key=lambda package: (package["name"], package["version"]))
    version = next(package["version"] for package in packages if package["name"] == LIBRARY)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "THIRD-PARTY-LICENSES.txt"), "w", encoding="utf-8") as file:
        file.write(notices(packages, rustc))
    with open(os.path.join(out, "native-libraries.properties"), "w", encoding="utf-8") as file:
        file.write("version=%s\nglibc=2.17\n" % version)
        file.writelines("%s=%s\n" % item for item in sorted(compilers.items()))
    with open(os.path.join(out, "sbom.cdx.json"), "w", encoding="utf-8") as file:
        json.dump(bill(packages, uses, version), file, indent=1)
        file.write("\n")


main()
