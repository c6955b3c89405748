#!/usr/bin/env python3
"""Reads a release jar and fails when it is not as it should be. Usage: inspect.py JAR"""

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

LARGEST = 12_000_000
MACHINES = {"linux-x86_64": "Advanced Micro Devices X86-64", "linux-aarch64": "AArch64"}
GLIBC = (2, 17)
NEEDED = re.compile(r"^(lib(c|m|dl|rt|pthread|util)\.so\.\d+|ld-linux-(x86-64|aarch64)\.so\.\d+)$")
EXPORTED = {"JNI_OnLoad", "JNI_OnUnload"}
BRIDGE = "io/github/flinkpubsub/nativebridge/"

problems = []


def check(good, text):
    if not good:
        problems.append(text)


def readelf(path, *options):
    return subprocess.check_output(["readelf", "-W", *options, path], text=True, env={**os.environ, "LC_ALL": "C"})


def library(platform, content):
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(content)
        file.flush()
        check(MACHINES[platform] in readelf(file.name, "-h"), platform + " is for another machine")
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(file.name, "-d"))
        check(all(NEEDED.match(name) for name in needed), "%s needs %s" % (platform, needed))
        symbols = readelf(file.name, "--dyn-syms")
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"@GLIBC_([0-9.]+)", symbols)}
        versions |= {
            tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([0-9.]+)", readelf(file.name, "-V"))
        }
        check(versions and max(versions) <= GLIBC, "%s needs glibc %s" % (platform, max(versions, default=None)))
        exported = {
            line.split()[-1].split("@")[0]
            for line in symbols.splitlines()
            if re.search(r"\b(FUNC|OBJECT)\b.*\b(GLOBAL|WEAK)\b.*\bDEFAULT\b", line) and " UND " not in line
        }
        check(exported == EXPORTED, "%s exports %s" % (platform, sorted(exported)))
        sections = readelf(file.name, "-S")
        check(".symtab" not in sections and ".debug" not in sections, platform + " is not stripped")
    for private in {os.path.expanduser("~") + "/", os.getcwd() + "/"}:
        check(private.encode() not in content, "%s holds the path %s" % (platform, private))
    glibc = ".".join(map(str, max(versions)))
    print("%s: %.1f MB, glibc %s, needs %s" % (platform, len(content) / 1e6, glibc, " ".join(sorted(needed))))


def main():
    path = sys.argv[1]
    size = os.path.getsize(path)
    check(size < LARGEST, "%d bytes are more than %d" % (size, LARGEST))
    with zipfile.ZipFile(path) as jar:
        names = jar.namelist()
        check(len(names) == len(set(names)), "an entry comes twice")
        times = {entry.date_time for entry in jar.infolist()}
        check(len(times) == 1, "entries have times: %s" % sorted(times)[:3])
        foreign = [
            name
            for name in names
            if not name.endswith("/") and not name.startswith(("io/github/flinkpubsub/", "META-INF/"))
        ]
        check(not foreign, "entries of others: %s" % foreign[:3])
        platforms = {name[len(BRIDGE) :].split("/")[0] for name in names if name.endswith("/libpubsub_flink.so")}
        check(platforms == set(MACHINES), "libraries for %s" % sorted(platforms))
        for platform in sorted(platforms & set(MACHINES)):
            library(platform, jar.read(BRIDGE + platform + "/libpubsub_flink.so"))
        for name in ["LICENSE", "NOTICE", "THIRD-PARTY-LICENSES.txt", "native-libraries.properties", "sbom.cdx.json"]:
            check("META-INF/" + name in names, "META-INF/%s is missing" % name)
        if problems:
            sys.exit("\n".join([path + ":"] + problems))
        licences = jar.read("META-INF/THIRD-PARTY-LICENSES.txt").decode()
        bill = json.loads(jar.read("META-INF/sbom.cdx.json"))
        check(bill["bomFormat"] == "CycloneDX", "the bill of materials is of another form")
        for component in bill["components"]:
            listed = "%s %s " % (component["name"], component["version"])
            check(("\n" + listed) in licences, listed + "has no line among the licences")
            check("licenses" in component, listed + "has no licence in the bill")
            own = component["name"].startswith("pubsub-")
            check(own or (listed + "(") in licences, listed + "has no licence text")
            check(own or "hashes" in component, listed + "has no hash in the bill")
        properties = jar.read("META-INF/native-libraries.properties").decode()
        version = bill["metadata"]["component"]["version"]
        check("version=%s\n" % version in properties, "the properties tell another version")
        check(path.endswith("-%s.jar" % version), "the jar's name does not end with its version")
        print("%s: %.1f MB, %d crates" % (os.path.basename(path), size / 1e6, len(bill["components"])))
    if problems:
        sys.exit("\n".join([path + ":"] + problems))


main()
